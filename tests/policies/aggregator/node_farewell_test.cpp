#include "policies/aggregator/node_farewell.hpp"

#include <gtest/gtest.h>

namespace tidegate::policies {
namespace {

TEST(node_farewell_test, is_settled_when_every_shard_has_heard_it_of_each_node) {
  node_farewell farewell;
  EXPECT_TRUE(farewell.is_settled());
  EXPECT_FALSE(farewell.is_missing(0, 0)) << "it is not said yet";
  farewell.acknowledged(0, 0);
  farewell.say(2, 2);
  for (const std::size_t shard : {0, 1})
    for (const std::size_t node : {0, 1}) {
      EXPECT_FALSE(farewell.is_settled());
      EXPECT_TRUE(farewell.is_missing(shard, node));
      farewell.acknowledged(shard, node);
    }
  EXPECT_TRUE(farewell.is_settled());
  farewell.acknowledged(2, 0);  // no such shard
}

TEST(node_farewell_test, is_said_again_to_a_shard_that_another_process_serves) {
  node_farewell farewell;
  farewell.forget(1);
  farewell.say(2, 2);
  for (const std::size_t shard : {0, 1})
    for (const std::size_t node : {0, 1}) farewell.acknowledged(shard, node);
  farewell.forget(1);
  EXPECT_FALSE(farewell.is_missing(0, 1));
  EXPECT_TRUE(farewell.is_missing(1, 0));
  EXPECT_TRUE(farewell.is_missing(1, 1));
}

TEST(node_farewell_test, is_due_in_time_once_it_is_said) {
  const retransmit_limits limits{.first_ns = 10, .most_ns = 20, .growth = 2};
  node_farewell farewell;
  EXPECT_FALSE(farewell.is_due(0, limits));
  EXPECT_FALSE(farewell.is_due(100, limits));
  farewell.say(1, 1);
  EXPECT_FALSE(farewell.is_due(200, limits)) << "the first look starts its time";
  EXPECT_TRUE(farewell.is_due(210, limits));
}

}  // namespace
}  // namespace tidegate::policies
