#include "policies/placement/shard_map.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace tidegate::policies {
namespace {

using shards = std::vector<std::uint32_t>;

std::vector<std::uint32_t> loads(const shard_map& slots) {
  std::vector<std::uint32_t> load(slots.shards());
  for (const auto slot : slots.slot_of()) ++load[slot];
  return load;
}

TEST(shard_map, begin_in_turn) {
  const shard_map slots(5, 1, 2);
  EXPECT_EQ(slots.slot_of(), (shards{0, 1, 0, 1, 0}));
  EXPECT_EQ(slots.members(), 10U);
}

TEST(shard_map, number_members_from_their_own_slot_on) {
  const shard_map all(3, 2, 3);
  for (std::uint32_t shard = 0; shard < 3; ++shard)
    EXPECT_EQ(all.wanted_of(shard).first, 0U) << "as where nothing moves";
  const shard_map slots(3, 2, 1);
  EXPECT_EQ(slots.wanted_of(1).first, 6U) << "slot 0 is two behind slot 1";
  for (std::uint32_t shard = 0; shard < 3; ++shard)
    for (std::uint32_t member = 0; member < 9; ++member)
      EXPECT_EQ(slots.member_of(shard, slots.process_of(shard, member)), member);
  EXPECT_FALSE(slots.has({3, 0}));
  EXPECT_FALSE(slots.has({0, 3}));
  EXPECT_TRUE(slots.has({2, 2}));
}

TEST(shard_map, move_from_every_number_of_slots_to_every_other) {
  for (std::uint32_t from = 1; from <= 7; ++from)
    for (std::uint32_t to = 1; to <= 7; ++to) {
      shard_map slots(7, 1, from);
      const auto before = slots.slot_of();
      const auto moved = slots.scale(to);
      std::uint32_t changed = 0;
      for (std::uint32_t shard = 0; shard < 7; ++shard)
        changed += before[shard] == slots.slot_of()[shard] ? 0 : 1;
      EXPECT_EQ(moved.size(), changed) << from << " to " << to;
      auto load = loads(slots);
      for (std::uint32_t slot = 0; slot < 7; ++slot)
        EXPECT_TRUE(slot < to ? load[slot] == 7 / to || load[slot] == (7 + to - 1) / to
                              : load[slot] == 0)
            << from << " to " << to << ": slot " << slot << " has " << load[slot];
    }
}

TEST(shard_map, go_on_only_as_they_can_have_been) {
  shard_map slots(3, 0, 1);
  EXPECT_FALSE(slots.go_on(0, {0, 0, 0}));
  EXPECT_FALSE(slots.go_on(4, {0, 0, 0}));
  EXPECT_FALSE(slots.go_on(2, {0, 1}));
  EXPECT_FALSE(slots.go_on(2, {0, 1, 2}));
  EXPECT_TRUE(slots.go_on(2, {0, 1, 1}));
  EXPECT_EQ(slots.slot_of(), (shards{0, 1, 1}));
  EXPECT_EQ(slots.wanted(), 2U);
}

TEST(shard_map, move_as_few_as_make_them_even) {
  shard_map slots(6, 0, 2);
  EXPECT_EQ(slots.scale(3).size(), 2U);
  EXPECT_EQ(loads(slots), (shards{2, 2, 2, 0, 0, 0}));
  EXPECT_EQ(slots.scale(4).size(), 1U) << "two of four have two, and one of those moves none";
  auto four = loads(slots);
  std::sort(four.begin(), four.end());
  EXPECT_EQ(four, (shards{0, 0, 1, 1, 2, 2}));
  const auto before = slots.slot_of();
  EXPECT_TRUE(slots.scale(4).empty()) << "they are";
  EXPECT_EQ(slots.slot_of(), before);
  const auto stay = loads(slots)[0];
  EXPECT_EQ(slots.scale(1).size(), 6U - stay);
  EXPECT_EQ(slots.slot_of(), shards(6, 0));
  EXPECT_EQ(slots.wanted(), 1U);
}

}  // namespace
}  // namespace tidegate::policies
