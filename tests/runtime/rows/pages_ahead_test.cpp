#include "runtime/rows/pages_ahead.hpp"

#include <algorithm>
#include <memory>
#include <sys/mman.h>
#include <utility>
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

std::shared_ptr<segment> memory_of(std::size_t bytes) {
  auto memory = segment::create("pages", bytes);
  EXPECT_TRUE(memory);
  return std::make_shared<segment>(std::move(*memory));
}

// Arrays that grow alike ask for a huge page one after the other.
TEST(pages_ahead, are_made_as_early_as_their_lead_says) {
  constexpr std::uint64_t bytes = 8U << 20U;
  for (const double lead : {0.0, 0.25, 0.75}) {
    const auto memory = memory_of(bytes);
    rows::page_maker maker;
    rows::pages_ahead pages(0, bytes, lead);
    std::uint64_t first = 0;  // where the second huge page is there
    for (std::uint64_t offset = 4096; offset <= bytes / 2 && first == 0; offset += 65536) {
      pages.reach(memory, offset, maker);
      maker.wait();
      ASSERT_GE(pages_there(*memory, bytes) * 4096, offset);
      if (pages_there(*memory, bytes) * 4096 > segment::huge_page_bytes) first = offset;
    }
    const auto expected = static_cast<double>(segment::huge_page_bytes) / (1 + (1 + lead) / 2);
    EXPECT_NEAR(static_cast<double>(first), expected, 2 * 65536) << lead;
  }
}

// As where a table is restored.
TEST(pages_ahead, that_nobody_has_asked_for_are_there_at_once) {
  constexpr std::uint64_t bytes = 32U << 20U;
  constexpr std::uint64_t end = 15U << 20U;
  const auto memory = memory_of(bytes);
  rows::page_maker maker;
  rows::pages_ahead pages(0, end, 0.5);
  pages.reach(memory, 9U << 20U, maker);
  EXPECT_GE(pages_there(*memory, bytes) * 4096, 9U << 20U);
  pages.reach(memory, bytes, maker);
  maker.wait();  // for what was asked for by the way
  EXPECT_GE(pages_there(*memory, bytes) * 4096, end);
  EXPECT_LE(pages_there(*memory, bytes) * 4096, end + segment::huge_page_bytes);
}

// Who asks goes on at once, and lets memory go that nobody needs any more.
TEST(page_maker, leaves_memory_alone_that_was_let_go) {
  constexpr std::uint64_t bytes = 512U << 20U;  // a tenth of a second, and more
  rows::page_maker maker;
  const auto first = memory_of(bytes);
  auto memory = memory_of(4U << 20U);
  const auto name = memory->name();
  ASSERT_TRUE(maker.ask(first, 0, bytes));
  ASSERT_TRUE(maker.ask(memory, 0, 4U << 20U));
  EXPECT_LT(pages_there(*first, bytes) * 4096, bytes);
  memory.reset();
  EXPECT_TRUE(is_gone(name));
  maker.wait();
  EXPECT_EQ(pages_there(*first, bytes) * 4096, bytes);
}

TEST(page_maker, takes_no_more_than_it_makes_soon) {
  rows::page_maker maker;
  const auto memory = memory_of(256U << 20U);
  std::size_t taken = 0;
  while (taken <= rows::page_maker::asked_max && maker.ask(memory, 0, memory->size())) ++taken;
  EXPECT_EQ(taken, rows::page_maker::asked_max);
  maker.wait();
  EXPECT_TRUE(maker.ask(memory, 0, 4096));
}

TEST(page_maker, is_shared_by_a_process_and_ends_with_the_last_that_has_it) {
  auto first = rows::page_maker::of_process();
  const std::weak_ptr<rows::page_maker> known = first;
  EXPECT_EQ(rows::page_maker::of_process(), first);
  first.reset();
  EXPECT_TRUE(known.expired());
}

}  // namespace
}  // namespace tidegate::runtime
