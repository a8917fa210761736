#include "runtime/device/host_ranges.hpp"

#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/rng.hpp"

namespace tidegate::runtime::devices {
namespace {

// Against a map of bytes.
TEST(host_ranges, hold_and_overlap_as_their_bytes_do) {
  constexpr std::size_t size = 64;
  std::array<std::byte, size> memory{};
  rng random(7);
  for (int round = 0; round < 300; ++round) {
    host_ranges ranges;
    std::array<int, size> owner{};  // 0: nobody
    std::vector<std::span<const std::byte>> known;
    for (int step = 1; step < 40; ++step) {
      const auto begin = random.below(size);
      const auto count = 1 + random.below(std::min<std::uint64_t>(size - begin, 12));
      const std::span<const std::byte> bytes(memory.data() + begin, count);
      bool is_held = owner[begin] != 0, overlaps = false;
      for (auto i = begin; i < begin + count; ++i) {
        is_held = is_held && owner[i] == owner[begin];
        overlaps = overlaps || owner[i] != 0;
      }
      ASSERT_EQ(ranges.holds(bytes), is_held);
      ASSERT_EQ(ranges.overlaps(bytes), overlaps);
      if (!overlaps) {
        ranges.add(bytes);
        known.push_back(bytes);
        for (auto i = begin; i < begin + count; ++i) owner[i] = step;
      } else if (random.below(3) == 0) {
        const auto gone = known[random.below(known.size())];
        std::erase_if(known, [&](const auto& item) { return item.data() == gone.data(); });
        ranges.remove(gone);
        for (const auto& item : gone) owner[&item - memory.data()] = 0;
      }
    }
  }
}

}  // namespace
}  // namespace tidegate::runtime::devices
