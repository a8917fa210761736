// Rows on an emulated device are what plain arrays say, whatever is late; every planted mistake
// is found; and which rows lie where.

#include "runtime/device/rows/device_rows.hpp"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/planted.hpp"
#include "runtime/base/rng.hpp"
#include "runtime/device/emulated/emulated_device.hpp"
#include "tests/runtime/device/rows/rows_trial.hpp"

namespace tidegate::runtime::devices {
namespace {

TEST(device_rows, are_those_of_the_host) {
  std::uint64_t steps = 0, moved = 0, reads = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    const auto report = tests::try_rows_on_device(seed);
    ASSERT_EQ(report.problem, "") << "seed " << seed;
    steps += report.steps;
    moved += report.rows_moved;
    reads += report.reads;
  }
  EXPECT_GT(steps, 1000U);
  EXPECT_GT(moved, 1000U);
  EXPECT_GT(reads, 1000U);
}

class planted_in_device_rows : public testing::TestWithParam<int> {
 protected:
  ~planted_in_device_rows() override { planted = planted_bug::none; }
};

TEST_P(planted_in_device_rows, is_found) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    planted = static_cast<planted_bug>(GetParam());
    const auto report = tests::try_rows_on_device(seed);
    planted = planted_bug::none;
    if (report.problem.empty()) continue;
    std::printf("bug %d, seed %d: %s\n", GetParam(), static_cast<int>(seed),
                report.problem.c_str());
    return;
  }
  ADD_FAILURE() << "not found in 100 seeds";
}

INSTANTIATE_TEST_SUITE_P(bugs, planted_in_device_rows,
                         testing::Range(static_cast<int>(planted_device_row_bug_first),
                                        static_cast<int>(planted_device_row_bug_last) + 1));

TEST(device_rows, a_lost_device_is_told_of) {
  emulated_device device({.paced_by = emulated_options::pace::caller});
  auto queue = row_queue::make(device, {});
  ASSERT_TRUE(queue);
  row_room room(device, 0);
  device_rows rows(**queue, room, {.capacity = 100, .dim = 4});
  ASSERT_TRUE(rows.reserve(10).ok());
  const std::vector<row_number> numbers{1, 2};
  rows.begin(numbers, std::vector<float>(8, 1.0F));
  device.lose();
  for (int i = 0; i < 100 && (*queue)->failure().ok(); ++i) (*queue)->poll();
  EXPECT_EQ((*queue)->failure().code(), errc::unavailable);
  EXPECT_FALSE((*queue)->is_idle());
}

TEST(device_rows, memory_of_the_host_is_next) {
  emulated_device device(
      {.memory_bytes = std::uint64_t{4} << 20, .paced_by = emulated_options::pace::caller});
  row_room room(device, 3 << 20);
  auto queue = row_queue::make(device, {.slots = 1});
  ASSERT_TRUE(queue);
  {
    device_rows rows(**queue, room, {.capacity = 100'000, .dim = 64});
    ASSERT_TRUE(rows.reserve(10'000).ok());
    EXPECT_LE(room.bytes_on_device(), std::uint64_t{3} << 20);
    EXPECT_GE(room.bytes_on_device(), std::uint64_t{2} << 20);
    EXPECT_GE(room.bytes_on_host(), 5'000U * 256);
  }
  // What rows wait in stays; other memory is for the next table, which takes none anew.
  EXPECT_EQ(room.bytes_on_device(), std::uint64_t{2} << 20);
  EXPECT_EQ(room.bytes_on_host(), 0U);
  const auto out = device.bytes_out();
  device_rows others(**queue, room, {.capacity = 100'000, .dim = 64});
  ASSERT_TRUE(others.reserve(10'000).ok());
  EXPECT_EQ(device.bytes_out(), out);
}

TEST(device_rows, leave_a_share_of_the_device_to_others) {
  emulated_device device(
      {.memory_bytes = std::uint64_t{32} << 20, .paced_by = emulated_options::pace::caller});
  row_room room(device, 0);
  auto queue = row_queue::make(device, {.slots = 1});
  ASSERT_TRUE(queue);
  device_rows rows(**queue, room, {.capacity = 1'000'000, .dim = 64});
  ASSERT_TRUE(rows.reserve(300'000).ok());
  EXPECT_GE(device.memory().free, std::uint64_t{4} << 20);
  EXPECT_LE(device.memory().free, std::uint64_t{12} << 20);
  EXPECT_GT(room.bytes_on_host(), 0U);
}

// A queue that is stopped waits for an operation of which some is under way.
TEST(device_rows, memory_is_let_go_of_when_nothing_writes_it) {
  emulated_device device({.paced_by = emulated_options::pace::caller});
  auto queue = row_queue::make(device, {.slots = 2, .slot_bytes = std::size_t{64} << 10});
  ASSERT_TRUE(queue);
  row_room room(device, 0);
  device_rows rows(**queue, room, {.capacity = 100'000, .dim = 64});
  ASSERT_TRUE(rows.reserve(20'000).ok());
  std::vector<row_number> numbers(20'000);
  std::iota(numbers.begin(), numbers.end(), row_number{0});
  std::vector<row_source> from;
  for (const auto number : numbers)
    from.push_back({.from = row_source::place::row, .number = number});
  auto out = *device.allocate_host(from.size() * 64 * sizeof(float));
  rows.read(from, reinterpret_cast<float*>(out.bytes().data()), {});
  while ((*queue)->submitted() > (*queue)->done() + 1) (*queue)->poll();
  (*queue)->poll();
  const auto halves = device.halves_done();
  (*queue)->stop();
  EXPECT_GT(device.halves_done(), halves) << "what was under way has ended";
  out.reset();
  device.advance(1'000'000);
  EXPECT_FALSE(device.is_lost()) << "nothing writes there any more";
}

TEST(row_places, rows_that_are_used_stay) {
  row_places places;
  places.add(10);
  places.set_on_device(4);
  places.add(10);
  std::vector<row_places::exchange> exchanges;
  const std::vector<row_number> used{0, 1};
  places.bring(used, exchanges);
  EXPECT_TRUE(exchanges.empty());
  const std::vector<row_number> wanted{7, 8};
  places.bring(wanted, exchanges);
  ASSERT_EQ(exchanges.size(), 2U);
  EXPECT_EQ(exchanges[0].in, 7U);
  EXPECT_EQ(exchanges[1].in, 8U);
  EXPECT_EQ(std::set({exchanges[0].out, exchanges[1].out}), (std::set<row_number>{2, 3}));
  EXPECT_TRUE(places.is_on_device(places.place_of(7)));
  EXPECT_TRUE(places.is_on_device(places.place_of(0)));
}

TEST(row_places, more_rows_than_there_is_room) {
  row_places places;
  places.add(10);
  places.set_on_device(3);
  std::vector<row_places::exchange> exchanges;
  const std::vector<row_number> wanted{0, 5, 6, 7, 8, 9};
  places.bring(wanted, exchanges);
  EXPECT_EQ(exchanges.size(), 2U) << "row 0 keeps its place";
  std::set<std::uint32_t> taken;
  for (row_number row = 0; row < 10; ++row) taken.insert(places.place_of(row));
  EXPECT_EQ(taken.size(), 10U) << "each row has a place of its own";
}

TEST(row_places, random_calls_keep_one_row_in_one_place) {
  rng random(5);
  row_places places;
  std::uint64_t rows = 20;
  places.add(rows);
  places.set_on_device(7);
  for (int call = 0; call < 3000; ++call) {
    if (random.below(50) == 0) places.add(rows += random.below(9));
    std::vector<row_number> wanted;
    for (row_number row = 0; row < rows; ++row)
      if (random.below(rows / 4) == 0) wanted.push_back(row);
    std::vector<row_places::exchange> exchanges;
    places.bring(wanted, exchanges);
    std::set<std::uint32_t> devices, hosts, taken;
    for (const auto& moved : exchanges) {
      EXPECT_TRUE(devices.insert(moved.device).second);
      EXPECT_TRUE(hosts.insert(moved.host).second);
    }
    for (row_number row = 0; row < rows; ++row) taken.insert(places.place_of(row));
    ASSERT_EQ(taken.size(), rows);
    const auto on_device = std::count_if(wanted.begin(), wanted.end(), [&](row_number row) {
      return places.is_on_device(places.place_of(row));
    });
    ASSERT_EQ(on_device, static_cast<std::ptrdiff_t>(std::min<std::size_t>(wanted.size(), 7)));
  }
}

}  // namespace
}  // namespace tidegate::runtime::devices
