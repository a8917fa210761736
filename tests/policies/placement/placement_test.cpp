#include "policies/placement/placement.hpp"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

namespace tidegate::policies {
namespace {

constexpr std::uint64_t chunk_bytes = 256;
constexpr std::uint64_t chunk_elements = chunk_bytes / 4;

std::vector<table_spec> tables_of(const std::vector<std::uint64_t>& sizes) {
  std::vector<table_spec> tables;
  for (const auto size : sizes) {
    auto& table = tables.emplace_back();
    table.shape = {size};
  }
  return tables;
}

std::uint64_t spread(const placement& p) {
  const auto [lo, hi] = std::minmax_element(p.load_bytes().begin(), p.load_bytes().end());
  return *hi - *lo;
}

TEST(placement, cuts_a_table_into_full_chunks_and_a_rest) {
  placement p(1, chunk_bytes);
  const std::vector<std::uint64_t> sizes{2 * chunk_elements + 3};
  const auto places = p.add(tables_of(sizes));
  ASSERT_EQ(places.size(), 1U);
  const table_places expected{
      {.chunk = 0, .shard = 0, .first = 0, .elements = chunk_elements},
      {.chunk = 1, .shard = 0, .first = chunk_elements, .elements = chunk_elements},
      {.chunk = 2, .shard = 0, .first = 2 * chunk_elements, .elements = 3}};
  EXPECT_EQ(places[0], expected);
  EXPECT_EQ(p.load_bytes()[0], 4 * sizes[0]);
}

TEST(placement, a_table_of_one_element_is_one_chunk) {
  placement p(3, chunk_bytes);
  const std::vector<std::uint64_t> sizes{1};
  const auto places = p.add(tables_of(sizes));
  EXPECT_EQ(places[0], (table_places{{0, 0, 0, 1}}));
}

TEST(placement, an_exact_multiple_has_no_empty_rest) {
  placement p(2, chunk_bytes);
  const std::vector<std::uint64_t> sizes{4 * chunk_elements};
  const auto places = p.add(tables_of(sizes));
  EXPECT_EQ(places[0].size(), 4U);
  EXPECT_EQ(spread(p), 0U);
}

TEST(placement, covers_every_element_once_and_balances_bytes) {
  for (std::uint32_t shards = 1; shards <= 7; ++shards) {
    placement p(shards, chunk_bytes);
    const std::vector<std::uint64_t> sizes{1, 1000, 63, 64, 65, 17, 4096, 3, 200};
    const auto places = p.add(tables_of(sizes));
    ASSERT_EQ(places.size(), sizes.size());
    for (std::size_t t = 0; t < sizes.size(); ++t) {
      std::uint64_t next = 0;
      for (std::size_t c = 0; c < places[t].size(); ++c) {
        EXPECT_EQ(places[t][c].chunk, c);
        EXPECT_EQ(places[t][c].first, next);
        EXPECT_LT(places[t][c].shard, shards);
        EXPECT_GE(places[t][c].elements, 1U);
        EXPECT_LE(places[t][c].elements, chunk_elements);
        next += places[t][c].elements;
      }
      EXPECT_EQ(next, sizes[t]);
    }
    const auto total = std::accumulate(p.load_bytes().begin(), p.load_bytes().end(), 0ULL);
    EXPECT_EQ(total, 4 * std::accumulate(sizes.begin(), sizes.end(), 0ULL));
    EXPECT_LE(spread(p), chunk_bytes);
  }
}

TEST(placement, balances_bytes_where_counting_chunks_would_not) {
  placement p(2, chunk_bytes);
  // Small, large, small, large: in turn by count, one shard would get both large ones.
  const std::vector<std::uint64_t> sizes{1, chunk_elements, 1, chunk_elements};
  const auto places = p.add(tables_of(sizes));
  EXPECT_NE(places[1][0].shard, places[3][0].shard);
  EXPECT_EQ(spread(p), 0U);
}

TEST(placement, is_a_function_of_its_calls) {
  const std::vector<std::uint64_t> first{500, 77, 77, 64};
  const std::vector<std::uint64_t> second{1000};
  placement a(3, chunk_bytes);
  placement b(3, chunk_bytes);
  EXPECT_EQ(a.add(tables_of(first)), b.add(tables_of(first)));
  EXPECT_EQ(a.add(tables_of(second)), b.add(tables_of(second)));
  EXPECT_EQ(a.load_bytes(), b.load_bytes());
}

TEST(placement, later_tables_fill_the_emptier_shards) {
  placement p(2, chunk_bytes);
  p.add(tables_of({chunk_elements}));
  const auto later = p.add(tables_of({chunk_elements}));
  EXPECT_EQ(later[0][0].shard, 1U);
  EXPECT_EQ(p.add({}).size(), 0U);
  EXPECT_EQ(spread(p), 0U);
}

TEST(placement, keeps_equal_shards_within_one_chunk_over_many_batches) {
  placement p(5, chunk_bytes);
  for (std::uint64_t n = 1; n < 60; ++n) {
    p.add(tables_of({n * 7, n * 131}));
    EXPECT_LE(spread(p), chunk_bytes);
  }
}

TEST(placement_death, refuses_chunks_that_are_no_multiple_of_64) {
  EXPECT_DEATH(placement(1, 100), "chunk_bytes");
  EXPECT_DEATH(placement(0, 64), "shard");
}

}  // namespace
}  // namespace tidegate::policies
