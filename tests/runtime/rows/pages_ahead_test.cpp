#include "runtime/rows/pages_ahead.hpp"

#include <algorithm>
#include <sys/mman.h>
#include <vector>

#include <gtest/gtest.h>

namespace tidegate::runtime {
namespace {

// Pages of an array that are there, of so many bytes from its begin.
std::size_t pages_there(const segment& memory, std::size_t bytes) {
  std::vector<unsigned char> there(bytes / 4096);
  EXPECT_EQ(::mincore(memory.data(), bytes, there.data()), 0);
  return static_cast<std::size_t>(
      std::count_if(there.begin(), there.end(), [](unsigned char page) { return page & 1; }));
}

// Arrays that grow alike wait for a huge page one after the other.
TEST(pages_ahead, are_there_as_early_as_their_lead_says) {
  constexpr std::uint64_t bytes = 8U << 20U;
  for (const double lead : {0.0, 0.25, 0.75}) {
    const auto memory = segment::create("pages", bytes);
    ASSERT_TRUE(memory);
    rows::pages_ahead pages(0, bytes, lead);
    std::uint64_t first = 0;  // where the second huge page is there
    for (std::uint64_t offset = 4096; offset <= bytes / 2 && first == 0; offset += 65536) {
      pages.reach(*memory, offset);
      ASSERT_GE(pages_there(*memory, bytes) * 4096, offset);
      if (pages_there(*memory, bytes) * 4096 > segment::huge_page_bytes) first = offset;
    }
    const auto expected = static_cast<double>(segment::huge_page_bytes) / (1 + lead);
    EXPECT_NEAR(static_cast<double>(first), expected, 2 * 65536) << lead;
  }
}

}  // namespace
}  // namespace tidegate::runtime
