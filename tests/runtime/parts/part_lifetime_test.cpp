// Rows of a part that are admitted and evicted.
#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/rng.hpp"
#include "runtime/parts/row_part.hpp"
#include "tests/runtime/parts/part_batches.hpp"
#include "tests/support/allocations.hpp"
#include "tests/support/row_lifetimes.hpp"

namespace tidegate::runtime {
namespace {

row_part part_of(const row_lifetime& lifetime) {
  auto part = row_part::create(options_of(lifetime));
  EXPECT_TRUE(part) << part.error().message();
  return std::move(*part);
}

const std::vector<std::pair<std::string, row_lifetime>>& lifetimes() {
  using order = eviction_order;
  static const std::vector<std::pair<std::string, row_lifetime>> all = {
      {"admission", {.admit_count = 3, .candidates = 1000}},
      {"few candidates", {.admit_count = 2, .candidates = 60}},
      {"unseen", {.unseen = 4}},
      {"long unseen", {.unseen = 48}},
      {"lru", {.rows = 120, .by = order::lru}},
      {"lfu", {.rows = 120, .by = order::lfu}},
      {"l2", {.rows = 120, .by = order::l2}},
      {"all", {.admit_count = 2, .candidates = 90, .unseen = 5, .rows = 70, .by = order::lfu}}};
  return all;
}

// The ids of a step, ascending.
std::vector<std::uint64_t> ids_of(const step_batches& batches) {
  std::vector<std::uint64_t> ids;
  for (const auto& input : batches.inputs)
    ids.insert(ids.end(), input.batch.ids.begin(), input.batch.ids.end());
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

std::uint64_t rows_in(const row_part& part, std::uint32_t version_buffer,
                      const std::map<std::uint64_t, bool>& expected) {
  const auto rows = scanned(part, version_buffer, 64);
  for (const auto& [id, values] : rows) EXPECT_TRUE(expected.contains(id)) << id;
  return rows.size();
}

TEST(part_lifetime, has_the_rows_of_a_sequential_reference) {
  for (const auto& [name, lifetime] : lifetimes()) {
    SCOPED_TRACE(name);
    auto part = part_of(lifetime);
    tests::row_lifetimes reference(lifetime);
    std::map<std::uint64_t, bool> rows;
    std::map<std::uint64_t, double> squares;
    std::uint64_t erased = 0;
    rng random(7);
    std::uint64_t clock = 0;
    for (std::uint32_t step = 0; step < 120; ++step) {
      // Where workers do not wait for each other, clocks go back.
      clock += random.below(4);
      clock -= std::min<std::uint64_t>(clock, random.below(8) == 0 ? 9 : 0);
      const step_batches batches(step, 1 + random.below(3), random.below(60));
      // The values after the step, as if nothing were erased by their size.
      const auto ids = ids_of(batches);
      auto unlimited = lifetime;
      unlimited.rows = 0;
      unlimited.unseen = 0;
      if (lifetime.by == eviction_order::l2) {
        auto twin_options = options_of(unlimited);
        auto twin = *row_part::create(twin_options);
        ASSERT_TRUE(twin.restore(part.image(0, {}), 0, {}).ok());
        ASSERT_TRUE(twin.apply(step_of(clock, 0, 0), batches.inputs).ok());
        twin.visit_rows([&](std::size_t, const row_part::row_values& row) {
          double sum = 0;
          for (const double x : row.values) sum += x * x;
          squares[row.id] = sum;
        });
      }
      ASSERT_TRUE(part.apply(step_of(clock, 0, 0), batches.inputs).ok());
      reference.step(clock, ids,
                     {.stepped = [&](std::uint64_t id) { rows[id] = true; },
                      .erased =
                          [&](std::uint64_t id) {
                            rows.erase(id);
                            ++erased;
                          },
                      .squares = [&](std::uint64_t id) { return squares.at(id); }});
      ASSERT_EQ(rows_in(part, 0, rows), rows.size());
      ASSERT_EQ(part.candidates(), reference.candidates());
    }
    EXPECT_GT(part.rows(), 20U);
    EXPECT_EQ(erased > 0, !lifetime.is_eternal());
  }
}

TEST(part_lifetime, shows_the_versions_before_as_they_were) {
  for (const auto& [name, lifetime] : lifetimes()) {
    SCOPED_TRACE(name);
    auto part = part_of(lifetime);
    std::deque<version> versions{{0, gathered(part, 0), {}}};
    for (std::uint32_t clock = 0; clock < 60; ++clock) {
      const step_batches batches(clock, 2, 90);
      const auto to = (clock + 1) % 5;
      ASSERT_TRUE(part.apply(step_of(clock, clock % 5, to), batches.inputs).ok());
      versions.push_front({to, gathered(part, to), scanned(part, to, 64)});
      if (versions.size() > 3) versions.pop_back();
      expect_versions(part, versions);
    }
  }
}

// From its image, and by the sums of its steps, at any moment.
TEST(part_lifetime, is_the_same_elsewhere) {
  for (const auto& [name, lifetime] : lifetimes()) {
    SCOPED_TRACE(name);
    auto part = part_of(lifetime);
    for (std::uint64_t clock = 0; clock < 80; ++clock) {
      const step_batches batches(clock, 1 + clock % 3, 70);
      const auto before = part.image(0, {});
      std::vector<std::byte> bytes(image_bytes(before));
      encode_image(before, bytes);
      auto other = part_of(lifetime);
      ASSERT_TRUE(other.restore(*decode_image(bytes), 0, {}).ok());
      ASSERT_TRUE(part.apply(step_of(clock, 0, 0, true), batches.inputs).ok());
      const batch_merger::input sum{0, *read_row_batch(part.sum_of(clock), dim)};
      ASSERT_TRUE(other.apply(step_of(clock, 0, 0), {&sum, 1}).ok());
      ASSERT_EQ(other.image(0, {}), part.image(0, {})) << clock;
    }
  }
}

TEST(part_lifetime, a_row_that_was_erased_begins_anew) {
  auto part = part_of({.admit_count = 2, .candidates = 100, .unseen = 3});
  const auto first = gathered(part, 0);
  const step_batches batches(1, 1, 40);
  for (std::uint64_t clock = 0; clock < 2; ++clock)
    ASSERT_TRUE(part.apply(step_of(clock, 0, 0), batches.inputs).ok());
  EXPECT_GT(part.rows(), 0U);
  EXPECT_NE(gathered(part, 0), first);
  const auto rows = part.rows();
  const auto stepped = part.image(0, {});
  const step_batches nothing(1, 1, 0);
  ASSERT_TRUE(part.apply(step_of(4, 0, 0), nothing.inputs).ok());
  EXPECT_EQ(part.rows(), 0U);
  EXPECT_EQ(gathered(part, 0), first);
  ASSERT_TRUE(part.apply(step_of(0, 0, 0), batches.inputs).ok());
  EXPECT_EQ(part.rows(), 0U);
  EXPECT_EQ(part.candidates(), rows);
  ASSERT_TRUE(part.apply(step_of(1, 0, 0), batches.inputs).ok());
  const auto again = part.image(0, {});
  EXPECT_EQ(again.ids, stepped.ids);
  EXPECT_EQ(again.values, stepped.values);
  EXPECT_EQ(again.states, stepped.states);
}

// Steps of several blocks of rows, between which candidates and rows may be too many.
TEST(part_lifetime, blocks_of_a_step_are_as_in_the_reference) {
  using order = eviction_order;
  constexpr std::uint64_t ids_in_all = 30'000;
  for (const row_lifetime& lifetime :
       {row_lifetime{.admit_count = 2, .candidates = 3000},
        {.admit_count = 2, .candidates = 9000, .rows = 5000, .by = order::lfu},
        {.unseen = 2, .rows = 700, .by = order::lru}}) {
    auto part = part_of(lifetime);
    auto replica = part_of(lifetime);
    tests::row_lifetimes reference(lifetime);
    std::map<std::uint64_t, bool> rows;
    for (std::uint64_t clock = 0; clock < 8; ++clock) {
      const step_batches batches(clock, 1 + clock % 3, 9000, ids_in_all);
      ASSERT_TRUE(part.apply(step_of(clock, 0, 0, clock % 2 == 0), batches.inputs).ok());
      ASSERT_TRUE(replica.apply(step_of(clock, 0, 0, clock % 2 == 1), batches.inputs).ok());
      reference.step(clock, ids_of(batches),
                     {.stepped = [&](std::uint64_t id) { rows[id] = true; },
                      .erased = [&](std::uint64_t id) { rows.erase(id); }});
      const auto image = part.image(0, {});
      ASSERT_EQ(image, replica.image(0, {}));
      std::vector<std::uint64_t> expected;
      for (const auto& [id, exists] : rows) expected.push_back(id);
      ASSERT_EQ(image.ids, expected);
      ASSERT_EQ(part.candidates(), reference.candidates());
    }
  }
}

// A worker that is far behind pushes: its rows have been used now, not then.
TEST(part_lifetime, a_push_of_an_older_clock_is_a_use_of_now) {
  auto part = part_of({.unseen = 8});
  const step_batches batches(1, 1, 40);
  const step_batches others(2, 1, 1);
  ASSERT_TRUE(part.apply(step_of(99, 0, 0), batches.inputs).ok());
  ASSERT_TRUE(part.apply(step_of(50, 0, 0), batches.inputs).ok());
  const auto rows = part.rows();
  ASSERT_TRUE(part.apply(step_of(101, 0, 0), others.inputs).ok());
  EXPECT_GE(part.rows(), rows);
  ASSERT_TRUE(part.apply(step_of(107, 0, 0), others.inputs).ok());
  EXPECT_LE(part.rows(), 1U);
}

// A row that is due to go is not kept by a push that comes too late.
TEST(part_lifetime, a_push_that_comes_too_late_begins_anew) {
  auto part = part_of({.unseen = 2});
  auto fresh = part_of({.unseen = 2});
  const step_batches batches(1, 1, 40);
  ASSERT_TRUE(part.apply(step_of(0, 0, 0), batches.inputs).ok());
  ASSERT_TRUE(part.apply(step_of(6, 0, 0), batches.inputs).ok());
  ASSERT_TRUE(fresh.apply(step_of(6, 0, 0), batches.inputs).ok());
  EXPECT_EQ(part.image(0, {}), fresh.image(0, {}));
}

TEST(part_lifetime, more_than_there_may_be_is_not_restored) {
  auto large = part_of({.admit_count = 2, .candidates = 1000, .rows = 1000});
  const step_batches batches(1, 1, 300);
  for (std::uint64_t clock = 0; clock < 2; ++clock)
    ASSERT_TRUE(large.apply(step_of(clock, 0, 0), batches.inputs).ok());
  const step_batches others(2, 1, 300);
  ASSERT_TRUE(large.apply(step_of(2, 0, 0), others.inputs).ok());
  const auto image = large.image(0, {});
  ASSERT_GT(image.ids.size(), 60U);
  ASSERT_GT(image.candidates.size(), 10U);
  auto few_rows = part_of({.admit_count = 2, .candidates = 1000, .rows = 60});
  EXPECT_EQ(few_rows.restore(image, 0, {}).code(), errc::corrupt);
  auto few_candidates = part_of({.admit_count = 2, .candidates = 10, .rows = 1000});
  EXPECT_EQ(few_candidates.restore(image, 0, {}).code(), errc::corrupt);
}

// A step of many more rows than there may be, in memory for these and a block.
TEST(part_lifetime, finds_room_for_any_batch) {
  const row_lifetime lifetime{.rows = 1000, .by = eviction_order::lru};
  auto part = part_of(lifetime);
  for (std::uint64_t clock = 0; clock < 3; ++clock) {
    const step_batches batches(clock, 2, 20'000, 1U << 20U);
    ASSERT_TRUE(part.apply(step_of(clock, static_cast<std::uint32_t>(clock),
                                   static_cast<std::uint32_t>(clock) + 1),
                           batches.inputs)
                    .ok());
    EXPECT_LE(part.rows(), 1000U);
    EXPECT_GE(part.rows(), 900U);
    const auto image = part.image(static_cast<std::uint32_t>(clock) + 1, {});
    EXPECT_EQ(image.ids.size(), part.rows());
  }
  // What is kept of the version before is of rows that were there before or are now.
  const auto kept = part.image(3, std::vector<std::uint32_t>{2}).kept;
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_LE(kept.front().ids.size(), 2000U);
}

TEST(part_lifetime, steps_allocate_nothing_once_warm) {
  auto part = part_of({.admit_count = 2, .candidates = 80, .unseen = 3, .rows = 60});
  std::deque<step_batches> batches;
  for (std::uint64_t clock = 0; clock < 80; ++clock) batches.emplace_back(clock % 8, 3, 150);
  std::uint32_t at = 0;
  const auto make = [&](std::uint64_t clock) {
    const auto to = (at + 1) % 4;
    ASSERT_TRUE(part.apply(step_of(clock, at, to, clock % 2 == 0), batches[clock].inputs).ok());
    at = to;
  };
  for (std::uint64_t clock = 0; clock < 60; ++clock) make(clock);
  const auto before = tests::allocations();
  for (std::uint64_t clock = 60; clock < 80; ++clock) make(clock);
  EXPECT_EQ(tests::allocations(), before);
}

}  // namespace
}  // namespace tidegate::runtime
