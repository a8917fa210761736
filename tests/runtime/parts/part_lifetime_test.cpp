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

row_part_options options_of(const row_lifetime& lifetime) {
  row_part_options options;
  options.rows.name = "user";
  options.rows.capacity = (lifetime.rows > 0 ? lifetime.rows : 10'000) + lifetime_block;
  options.rows.dim = dim;
  options.rows.optimizer.kind = optimizer_kind::adam;
  options.rows.optimizer.learning_rate = 0.1F;
  options.lifetime = lifetime;
  options.keeps = 2;
  return options;
}

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

// One that has each id once, now and then, in clocks that jump.
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
      clock += random.below(3);
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

TEST(part_lifetime, steps_that_erase_nothing_allocate_nothing_once_warm) {
  auto part = part_of({.admit_count = 2, .candidates = 5000, .unseen = 100'000, .rows = 5000});
  std::deque<step_batches> batches;
  for (std::uint64_t clock = 0; clock < 40; ++clock) batches.emplace_back(clock % 8, 3, 150);
  std::uint32_t at = 0;
  const auto make = [&](std::uint64_t clock) {
    const auto to = (at + 1) % 4;
    ASSERT_TRUE(part.apply(step_of(clock, at, to, clock % 2 == 0), batches[clock].inputs).ok());
    at = to;
  };
  for (std::uint64_t clock = 0; clock < 24; ++clock) make(clock);
  const auto before = tests::allocations();
  for (std::uint64_t clock = 24; clock < 40; ++clock) make(clock);
  EXPECT_EQ(tests::allocations(), before);
}

}  // namespace
}  // namespace tidegate::runtime
