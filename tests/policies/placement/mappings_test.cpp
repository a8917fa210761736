// Who gets mappings, and how many a table takes.
#include "policies/placement/mappings.hpp"

#include <gtest/gtest.h>

namespace tidegate::policies {
namespace {

table_places places_on(const std::vector<std::uint32_t>& shards) {
  table_places places;
  for (std::uint32_t i = 0; i < shards.size(); ++i)
    places.push_back({i, shards[i], i * 1024ULL, 1024});
  return places;
}

TEST(mappings, are_of_runs_of_neighbours_in_each_version) {
  EXPECT_EQ(mappings_of_array(places_on({0, 1, 0, 1})), 4 * mapped_versions);
  EXPECT_EQ(mappings_of_array(places_on({0, 0, 1, 1, 1})), 2 * mapped_versions);
}

TEST(mappings, are_not_needed_on_one_shard) {
  EXPECT_EQ(mappings_of_array(places_on({3, 3, 3})), 0U);
  EXPECT_EQ(mappings_of_array({}), 0U);
}

TEST(mappings, are_taken_whole_or_not_at_all) {
  mapping_budget budget(mappings_reserved + 10);
  EXPECT_TRUE(budget.take(6));
  EXPECT_FALSE(budget.take(5));
  EXPECT_EQ(budget.left(), 4U);
  EXPECT_TRUE(budget.take(4));
  EXPECT_TRUE(budget.take(0));
  EXPECT_FALSE(budget.take(1));
}

TEST(mappings, of_a_small_limit_are_all_for_the_rest) {
  EXPECT_EQ(mapping_budget(mappings_reserved - 1).left(), 0U);
}

}  // namespace
}  // namespace tidegate::policies
