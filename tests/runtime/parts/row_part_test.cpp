#include "runtime/parts/row_part.hpp"

#include <algorithm>
#include <deque>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/rng.hpp"
#include "tests/runtime/parts/part_batches.hpp"
#include "tests/support/allocations.hpp"

namespace tidegate::runtime {
namespace {

row_part part_of(std::uint32_t keeps, std::uint64_t capacity = 10'000,
                 optimizer_kind kind = optimizer_kind::adam) {
  row_part_options options;
  options.rows.name = "user";
  options.rows.capacity = capacity;
  options.rows.dim = dim;
  options.rows.optimizer.kind = kind;
  options.keeps = keeps;
  auto part = row_part::create(options);
  EXPECT_TRUE(part) << part.error().message();
  return std::move(*part);
}

TEST(row_part, shows_the_versions_before_as_they_were) {
  constexpr std::uint32_t keeps = 3;
  auto part = part_of(keeps);
  rng random(1);
  std::deque<version> versions{{0, gathered(part, 0), {}}};
  for (std::uint64_t clock = 0; clock < 60; ++clock) {
    // Some version buffer that none of the kept versions lies in.
    const auto is_taken = [&](std::uint32_t name) {
      return std::any_of(versions.begin(), versions.end(),
                         [&](const version& kept) { return kept.name == name; });
    };
    auto to = static_cast<std::uint32_t>(random.below(8));
    while (is_taken(to)) to = (to + 1) % 8;
    const step_batches batches(clock, 1 + random.below(3), random.below(200));
    ASSERT_TRUE(part.apply(step_of(clock, versions.front().name, to), batches.inputs).ok());
    versions.push_front({to, gathered(part, to), scanned(part, to, 64)});
    if (versions.size() > keeps + 1) versions.pop_back();
    expect_versions(part, versions);
  }
  EXPECT_GT(part.rows(), 300U);
}

TEST(row_part, a_step_in_place_keeps_nothing) {
  auto part = part_of(2);
  const step_batches first(1, 2, 100);
  const step_batches second(2, 2, 100);
  ASSERT_TRUE(part.apply(step_of(0, 0, 0), first.inputs).ok());
  ASSERT_TRUE(part.apply(step_of(1, 0, 4), second.inputs).ok());
  EXPECT_NE(gathered(part, 0), gathered(part, 4));
  EXPECT_EQ(part.image(4, std::vector<std::uint32_t>{0}).kept.size(), 1U);
}

TEST(row_part, is_the_same_elsewhere_from_its_image) {
  auto part = part_of(3);
  std::vector<version> versions{{0, gathered(part, 0), {}}};
  for (std::uint32_t clock = 0; clock < 5; ++clock) {
    const step_batches batches(clock, 2, 80);
    ASSERT_TRUE(part.apply(step_of(clock, clock, clock + 1), batches.inputs).ok());
    versions.push_back({clock + 1, gathered(part, clock + 1), scanned(part, clock + 1, 50)});
  }
  // Twice the same version: nobody pushed in the clock between.
  const std::vector<std::uint32_t> kept{5, 4, 3};
  const auto image = part.image(5, kept);
  std::vector<std::byte> bytes(image_bytes(image));
  encode_image(image, bytes);
  const auto decoded = decode_image(bytes);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(*decoded, image);

  auto other = part_of(3);
  const step_batches before(77, 1, 100);
  ASSERT_TRUE(other.apply(step_of(0, 0, 0), before.inputs).ok());
  ASSERT_TRUE(other.restore(*decoded, 0, std::vector<std::uint32_t>{1, 2, 3}).ok());
  EXPECT_EQ(other.table().hash(), part.table().hash());
  expect_versions(other, {{0, versions[5].values, versions[5].rows},
                          {1, versions[5].values, versions[5].rows},
                          {2, versions[4].values, versions[4].rows},
                          {3, versions[3].values, versions[3].rows}});
  const step_batches after(99, 3, 80);
  ASSERT_TRUE(part.apply(step_of(5, 5, 6), after.inputs).ok());
  ASSERT_TRUE(other.apply(step_of(5, 0, 4), after.inputs).ok());
  EXPECT_EQ(other.table().hash(), part.table().hash());
  expect_versions(other, {{1, versions[5].values, versions[5].rows},
                          {2, versions[4].values, versions[4].rows}});
}

TEST(row_part, the_sum_of_a_step_is_the_step_elsewhere) {
  auto part = part_of(0);
  auto replica = part_of(0);
  for (std::uint64_t clock = 0; clock < 10; ++clock) {
    const step_batches batches(clock, 1 + clock % 4, 150);
    ASSERT_TRUE(part.apply(step_of(clock, 0, 0, true), batches.inputs).ok());
    const auto sum = read_row_batch(part.sum_of(clock), dim);
    ASSERT_TRUE(sum);
    const batch_merger::input input{0, *sum};
    ASSERT_TRUE(replica.apply(step_of(clock, 0, 0), {&input, 1}).ok());
    EXPECT_EQ(replica.table().hash(), part.table().hash());
  }
}

TEST(row_part, blocks_of_a_step_are_one_step) {
  constexpr std::size_t many = 10'000;
  const auto big_step = [&](std::size_t workers, bool keeps_sum) {
    row_part_options options;
    options.rows = {.name = "user", .seed = 1, .capacity = 100'000, .dim = dim};
    options.keeps = 1;
    auto part = *row_part::create(options);
    // Of the ids that gathered() asks for, and of many others.
    const step_batches first(6, workers, many, 4 * ids_below);
    EXPECT_TRUE(part.apply(step_of(0, 0, 0), first.inputs).ok());
    const auto before = gathered(part, 0);
    const step_batches batches(7, workers, many, 1U << 15U);
    EXPECT_TRUE(part.apply(step_of(1, 0, 1, keeps_sum), batches.inputs).ok());
    EXPECT_NE(gathered(part, 1), before);
    EXPECT_EQ(gathered(part, 0), before) << "the version before is as it was";
    return part.table().hash();
  };
  EXPECT_EQ(big_step(2, false), big_step(2, true));
  EXPECT_EQ(big_step(1, false), big_step(1, true));
}

TEST(row_part, a_full_part_says_so) {
  auto part = part_of(0, 20);
  const step_batches batches(1, 2, 100);
  const auto full = part.apply(step_of(0, 0, 0), batches.inputs);
  EXPECT_EQ(full.code(), errc::over_limit);
  EXPECT_NE(full.message().find("table user: no room"), std::string::npos) << full.message();
}

TEST(row_part, steps_allocate_nothing_once_warm) {
  auto part = part_of(2);
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
