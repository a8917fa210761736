#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/rng.hpp"
#include "tests/support/allocations.hpp"
#include <tidegate/filters.hpp>

namespace tidegate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using ids_t = std::vector<std::uint64_t>;
using floats = std::vector<float>;

pull_filter filter_of(const pull_options& options) {
  return pull_filter::create(options).value();
}

ids_t wanted(pull_filter& filter, std::uint64_t clock, const ids_t& ids) {
  const auto found = filter.wanted(clock, ids).value();
  return {found.begin(), found.end()};
}

floats gathered(const pull_filter& filter, const ids_t& ids, std::uint32_t dim = 1) {
  floats out(ids.size() * dim);
  EXPECT_TRUE(filter.gather(ids, out).ok());
  return out;
}

TEST(pull_filter, has_rows_rest_that_were_as_before) {
  auto filter = filter_of({.dim = 1, .rest = 3});
  EXPECT_THAT(wanted(filter, 0, {5, 3, 5}), ElementsAre(5, 3)) << "each once";
  ASSERT_TRUE(filter.store(floats{1, 0}).ok());
  EXPECT_EQ(gathered(filter, {3, 5, 5}), (floats{0, 1, 1}));
  EXPECT_THAT(wanted(filter, 1, {5, 3}), ElementsAre(5, 3)) << "one pull says nothing yet";
  ASSERT_TRUE(filter.store(floats{2, 0}).ok());
  EXPECT_THAT(wanted(filter, 2, {3, 5}), ElementsAre(5)) << "3 was as before";
  ASSERT_TRUE(filter.store(floats{2}).ok());
  EXPECT_THAT(wanted(filter, 4, {3, 5}), IsEmpty());
  ASSERT_TRUE(filter.store({}).ok());
  EXPECT_EQ(gathered(filter, {3, 5}), (floats{0, 2}));
  EXPECT_THAT(wanted(filter, 5, {3, 5}), ElementsAre(3)) << "3 clocks after that of its pull";
  ASSERT_TRUE(filter.store(floats{7}).ok());
  EXPECT_THAT(wanted(filter, 6, {3, 5}), ElementsAre(3, 5)) << "3 has changed";
  EXPECT_EQ(filter.seen(), 12U);
  EXPECT_EQ(filter.kept(), 8U);
}

TEST(pull_filter, ends_the_rest_of_rows_that_are_pushed) {
  auto filter = filter_of({.dim = 1, .rest = 100});
  for (std::uint64_t clock = 0; clock < 2; ++clock) {
    wanted(filter, clock, {1, 2});
    ASSERT_TRUE(filter.store(floats{0, 0}).ok());
  }
  EXPECT_THAT(wanted(filter, 2, {1, 2}), IsEmpty());
  filter.pushed(ids_t{2, 99});
  EXPECT_THAT(wanted(filter, 2, {1, 2}), ElementsAre(2));
  EXPECT_EQ(filter.held(), 2U);
}

TEST(pull_filter, compares_first_pulls_with_first_values) {
  auto filter = filter_of({.dim = 2, .initial = 0.5F, .rest = 3});
  wanted(filter, 0, {1, 2});
  ASSERT_TRUE(filter.store(floats{0.5F, 0.5F, 0.5F, 0}).ok());
  EXPECT_THAT(wanted(filter, 1, {1, 2}), ElementsAre(2)) << "nobody has pushed 1";
  ASSERT_TRUE(filter.store(floats{0.5F, 0}).ok());
  EXPECT_EQ(gathered(filter, {1, 2}, 2), (floats{0.5F, 0.5F, 0.5F, 0}));
}

TEST(pull_filter, takes_a_small_change_for_none) {
  auto filter = filter_of({.dim = 2, .epsilon = 0.25F, .rest = 9});
  wanted(filter, 0, {1, 2, 3});
  ASSERT_TRUE(filter.store(floats{1, 1, 1, 1, 1, 1}).ok());
  wanted(filter, 1, {1, 2, 3});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  ASSERT_TRUE(filter.store(floats{1.25F, 1, 1, 1.5F, 1, nan}).ok());
  EXPECT_THAT(wanted(filter, 2, {1, 2, 3}), ElementsAre(2, 3));
  EXPECT_EQ(gathered(filter, {1}, 2), (floats{1.25F, 1})) << "but has its values";
}

TEST(pull_filter, with_a_table_that_it_alone_changes_is_exact) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    runtime::rng random(runtime::mix64(seed));
    auto filter = filter_of({.dim = 1, .rest = 1 + random.below(8)});
    floats table(30);
    for (std::uint64_t clock = 0; clock < 100; ++clock) {
      ids_t ids(random.below(20));
      for (auto& id : ids) id = random.below(table.size());
      floats pulled;
      for (const auto id : wanted(filter, clock, ids)) pulled.push_back(table[id]);
      ASSERT_TRUE(filter.store(pulled).ok());
      const auto values = gathered(filter, ids);
      for (std::size_t i = 0; i < ids.size(); ++i) ASSERT_EQ(values[i], table[ids[i]]);
      ids.resize(ids.size() / 4);
      for (const auto id : ids) table[id] += static_cast<float>(random.below(3));
      filter.pushed(ids);
    }
    EXPECT_LT(filter.kept(), filter.seen());
  }
}

TEST(pull_filter, refuses_what_is_wrong_and_stays_as_it_was) {
  for (const auto& wrong : {pull_options{.dim = 0},
                            {.epsilon = -1.0F},
                            {.rest = 0},
                            {.rest = (1ULL << 32) + 1},
                            {.rows_max = 0},
                            {.initial = std::nanf("")}})
    EXPECT_EQ(pull_filter::create(wrong).error().code(), errc::invalid_argument);
  auto filter = filter_of({.dim = 2, .rows_max = 3});
  floats out(2);
  EXPECT_EQ(filter.store({}).code(), errc::out_of_order);
  EXPECT_EQ(filter.gather(ids_t{4}, out).code(), errc::not_found);
  wanted(filter, 0, {4});
  EXPECT_EQ(filter.gather(ids_t{4}, out).code(), errc::not_found) << "its values have not come";
  EXPECT_EQ(filter.store(floats(3)).code(), errc::invalid_argument);
  ASSERT_TRUE(filter.store(floats{1, 2}).ok());
  EXPECT_THAT(filter.wanted(0, ids_t{1, 2, 3}).error().message(),
              HasSubstr("more than 3 rows; allowed: rows_max"));
  EXPECT_EQ(filter.held(), 1U);
  EXPECT_EQ(filter.store(floats(6)).code(), errc::out_of_order);
  EXPECT_EQ(gathered(filter, {4}, 2), (floats{1, 2}));
  wanted(filter, 1, {8});
  EXPECT_THAT(wanted(filter, 1, {4, 9}), ElementsAre(4, 9)) << "in place of the call before";
  ASSERT_TRUE(filter.store(floats(4)).ok());
  EXPECT_EQ(filter.held(), 2U);
}

TEST(pull_filter, goes_on_from_its_state) {
  const pull_options options{.dim = 2, .rest = 4};
  auto before = filter_of(options);
  for (std::uint64_t clock = 0; clock < 2; ++clock) {
    wanted(before, clock, {7, 1, 3});
    ASSERT_TRUE(before.store(floats{0, 0, -0.0F, 0, 1, static_cast<float>(clock)}).ok());
  }
  wanted(before, 2, {100});  // its values never come
  auto after = filter_of(options);
  ASSERT_TRUE(after.restore(before.save()).ok());
  EXPECT_EQ(after.save(), before.save());
  EXPECT_EQ(after.held(), 3U);
  EXPECT_EQ(gathered(after, {3, 7}, 2), (floats{1, 1, 0, 0}));
  EXPECT_TRUE(std::signbit(gathered(after, {1}, 2)[0])) << "bit for bit";
  EXPECT_THAT(wanted(after, 2, {1, 3, 7}), ElementsAre(3));
  const auto good = before.save();
  for (std::size_t size = 0; size < good.size(); ++size)
    ASSERT_EQ(after.restore(std::span(good).first(size)).code(), errc::invalid_argument);
  EXPECT_EQ(filter_of({.dim = 2, .rows_max = 2}).restore(good).code(), errc::invalid_argument);
}

TEST(pull_filter, allocates_nothing_once_its_memory_has_grown) {
  auto filter = filter_of({.dim = 2, .rest = 2});
  ids_t ids(500);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = i * 7;
  const floats values(1'000);
  floats out(1'000);
  const auto round = [&](std::uint64_t clock) {
    const auto count = filter.wanted(clock, ids)->size();
    filter.pushed(std::span(ids).first(3));
    return filter.store(std::span(values).first(2 * count)).ok() &&
           filter.gather(ids, out).ok();
  };
  ASSERT_TRUE(round(0));
  const auto before = tests::allocations();
  for (std::uint64_t clock = 1; clock < 50; ++clock) ASSERT_TRUE(round(clock));
  EXPECT_EQ(tests::allocations(), before);
}

}  // namespace
}  // namespace tidegate
