#include "runtime/filters/held_rows.hpp"

#include <map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/rng.hpp"

namespace tidegate::runtime::filters {
namespace {

// Against std::map, with few ids, so that chains of probes are long and rows come and go.
TEST(held_rows, are_those_of_a_map) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    rng random(mix64(seed));
    held_rows rows(2);
    std::map<std::uint64_t, float> expected;
    for (int step = 0; step < 3'000; ++step) {
      const auto id = random.below(200) << (random.below(2) * 40);
      if (random.below(3) == 0) {
        const auto at = rows.find(id);
        ASSERT_EQ(at != held_rows::nowhere, expected.erase(id) == 1);
        if (at != held_rows::nowhere) rows.erase(at);
      } else {
        const auto [at, is_new] = rows.insert(id);
        ASSERT_EQ(is_new, !expected.contains(id));
        if (is_new) {
          ASSERT_EQ(rows.values(at)[1], 0.0F) << "what lay there before is gone";
        }
        rows.values(at)[1] = expected[id] = static_cast<float>(step);
      }
      ASSERT_EQ(rows.size(), expected.size());
    }
    std::vector<held_rows::place> places;
    rows.ascending(places);
    ASSERT_EQ(places.size(), expected.size());
    auto next = expected.begin();
    for (const auto at : places) {
      ASSERT_EQ(rows.id(at), next->first);
      ASSERT_EQ(rows.find(next->first), at);
      ASSERT_EQ(std::as_const(rows).values(at)[1], next->second);
      ++next;
    }
    rows.clear();
    ASSERT_EQ(rows.size(), 0U);
    ASSERT_EQ(rows.find(expected.begin()->first), held_rows::nowhere);
  }
}

TEST(held_rows, are_met_for_the_first_time_once_in_a_call) {
  held_rows rows(1);
  const auto at = rows.insert(7).first;
  EXPECT_TRUE(rows.is_first(at));
  EXPECT_FALSE(rows.is_first(at));
  rows.begin_call();
  EXPECT_TRUE(rows.is_first(at));
  rows.erase(at);
  EXPECT_TRUE(rows.is_first(rows.insert(8).first)) << "another row at the same place";
}

}  // namespace
}  // namespace tidegate::runtime::filters
