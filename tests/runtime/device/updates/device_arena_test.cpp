#include "runtime/device/updates/device_arena.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/rng.hpp"
#include "runtime/device/emulated/emulated_device.hpp"

namespace tidegate::runtime::devices {
namespace {

constexpr emulated_options quiet{.paced_by = emulated_options::pace::caller};

TEST(device_arena, ten_thousand_small_places_share_memory) {
  emulated_device on(quiet);
  device_arena arena(on);
  for (int i = 0; i < 10'000; ++i) ASSERT_TRUE(arena.allocate(1000));
  EXPECT_LE(on.bytes_out(), 10'000 * 1024 + device_arena::piece_bytes);
  const auto large = arena.allocate(device_arena::piece_bytes);
  ASSERT_TRUE(large);
  EXPECT_EQ(arena.memory_of(*large).size(), device_arena::piece_bytes) << "alone";
}

TEST(device_arena, places_lie_apart_and_the_last_one_can_be_undone) {
  emulated_device on(quiet);
  device_arena arena(on);
  rng random(3);
  std::vector<device_arena::place> places;
  for (int i = 0; i < 400; ++i) {
    const auto most = random.below(8) == 0 ? 2 * device_arena::piece_bytes : 20'000;
    const auto place = arena.allocate(1 + random.below(most));
    ASSERT_TRUE(place);
    if (random.below(4) == 0)
      arena.undo(*place);
    else
      places.push_back(*place);
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto& a = places[i];
    EXPECT_EQ(a.offset % device_arena::alignment, 0u);
    EXPECT_LE(a.offset + a.bytes, arena.memory_of(a).size());
    for (std::size_t k = 0; k < i; ++k) {
      const auto& b = places[k];
      EXPECT_TRUE(a.piece != b.piece || a.offset >= b.offset + b.bytes ||
                  b.offset >= a.offset + a.bytes);
    }
  }
}

TEST(device_arena, no_memory_is_an_error) {
  emulated_device on({.memory_bytes = device_arena::piece_bytes + 100,
                      .paced_by = emulated_options::pace::caller});
  device_arena arena(on);
  ASSERT_TRUE(arena.allocate(1));
  EXPECT_EQ(arena.allocate(device_arena::piece_bytes).error().code(), errc::io_error);
  EXPECT_TRUE(arena.allocate(1)) << "of the piece that is there";
}

}  // namespace
}  // namespace tidegate::runtime::devices
