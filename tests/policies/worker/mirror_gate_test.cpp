// Which versions are copied, and what waits for that.
#include "policies/worker/mirror_gate.hpp"

#include <gtest/gtest.h>

namespace tidegate::policies {
namespace {

worker_effects::send to(std::uint32_t shard, std::uint64_t clock = 0) {
  worker_effects::send send;
  send.shard = shard;
  send.clock = clock;
  return send;
}

std::vector<std::uint32_t> released(mirror_gate& gate) {
  std::vector<std::uint32_t> shards;
  gate.release([&](const worker_effects::send& item) { shards.push_back(item.shard); });
  return shards;
}

TEST(mirror_gate, asks_for_the_first_version_and_those_of_every_so_many_clocks) {
  mirror_gate gate;
  EXPECT_FALSE(gate.is_used());
  EXPECT_FALSE(gate.committed(3)) << "nothing is copied";
  EXPECT_EQ(gate.begin(4, 6), (runtime::mirror_request{.number = 1, .version = 6}));
  EXPECT_TRUE(gate.is_used());
  EXPECT_EQ(gate.committed(7), (runtime::mirror_request{.number = 2, .version = 7}));
  EXPECT_EQ(gate.committed(8), (runtime::mirror_request{.number = 3, .version = 8}));
  for (const std::uint64_t clock : {9, 10, 11}) EXPECT_FALSE(gate.committed(clock)) << clock;
  EXPECT_EQ(gate.committed(12), (runtime::mirror_request{.number = 4, .version = 12}));
}

TEST(mirror_gate, holds_until_all_that_was_asked_for_is_copied) {
  mirror_gate gate;
  EXPECT_FALSE(gate.waits());
  gate.begin(1, 0);
  EXPECT_TRUE(gate.waits());
  gate.mirrored(1);
  EXPECT_FALSE(gate.waits());
  gate.committed(1);
  gate.committed(2);
  for (std::uint32_t shard : {0, 1, 0}) gate.hold(to(shard));
  gate.mirrored(2);
  EXPECT_EQ(released(gate), std::vector<std::uint32_t>()) << "one is not";
  gate.mirrored(3);
  EXPECT_EQ(released(gate), (std::vector<std::uint32_t>{0, 1, 0}));
  EXPECT_EQ(released(gate), std::vector<std::uint32_t>()) << "once";
}

TEST(mirror_gate, does_not_believe_in_copies_that_nobody_asked_for) {
  mirror_gate gate;
  gate.begin(1, 0);
  gate.mirrored(100);
  gate.committed(1);
  EXPECT_TRUE(gate.waits());
}

TEST(mirror_gate, forgets_what_is_sent_anew) {
  mirror_gate gate;
  gate.begin(1, 0);
  for (std::uint32_t shard : {0, 1, 2, 1}) gate.hold(to(shard));
  gate.drop(1);
  gate.mirrored(1);
  EXPECT_EQ(released(gate), (std::vector<std::uint32_t>{0, 2}));
}

}  // namespace
}  // namespace tidegate::policies
