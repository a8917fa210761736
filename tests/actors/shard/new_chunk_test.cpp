// What a chunk is before its first step.
#include "actors/shard/new_chunk.hpp"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace tidegate::actors {
namespace {

policies::open_table_call uniform_table() {
  policies::open_table_call table;
  table.name = "t";
  table.shape = {8};
  table.init = {.kind = policies::init_kind::uniform, .value = 0.5F};
  table.init_key = 7;
  return table;
}

policies::owned_chunk chunk_at(std::uint64_t first, std::uint64_t elements) {
  policies::owned_chunk chunk{};
  chunk.first = first;
  chunk.elements = elements;
  return chunk;
}

TEST(new_chunk, has_values_that_do_not_depend_on_how_the_table_is_cut) {
  const auto table = uniform_table();
  std::vector<float> whole(8), second(4);
  write_initial(table, chunk_at(0, 8), whole);
  write_initial(table, chunk_at(4, 4), second);
  EXPECT_EQ(second, std::vector<float>(whole.begin() + 4, whole.end()));
  for (const float value : whole) EXPECT_LE(std::abs(value), 0.5F);
  EXPECT_NE(whole[0], whole[1]);
}

TEST(new_chunk, has_the_constant_of_its_table) {
  auto table = uniform_table();
  table.init.kind = policies::init_kind::constant;
  std::vector<float> values(3);
  write_initial(table, chunk_at(0, 3), values);
  EXPECT_EQ(values, std::vector<float>(3, 0.5F));
}

TEST(new_chunk, is_described_as_before_its_first_step) {
  const auto about = describe_new(uniform_table(), chunk_at(4, 4));
  EXPECT_EQ(about.table, "t");
  EXPECT_EQ(about.first, 4U);
  EXPECT_EQ(about.elements, 4U);
  EXPECT_EQ(about.version, 0U);
  EXPECT_EQ(about.beta1_power, 1);
  EXPECT_TRUE(about.ranks.empty());
}

}  // namespace
}  // namespace tidegate::actors
