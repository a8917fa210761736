#include "actors/coordinator/member_watch.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/actors/coordinator/recording_port.hpp"

namespace tidegate::actors {
namespace {

using policies::process_role;
using strings = std::vector<std::string>;

class member_watch_test : public testing::Test, private member_watch::owner {
 protected:
  explicit member_watch_test(bool moves_shards = false)
      : watch(*this, port,
              {.shards = 2, .moves_shards = moves_shards, .absent_most_ns = 5 * second}) {}

  static control_member shard(std::uint32_t index, control_peer peer) {
    return {.role = process_role::shard,
            .index = index,
            .incarnation = 1,
            .address = "s" + std::to_string(index),
            .peer = peer};
  }
  void wait(std::int64_t seconds) {
    port.now += seconds * second;
    watch.look();
  }
  strings take() { return std::exchange(said, {}); }

  recording_port port;
  member_watch watch;
  strings said;

 private:
  void member_lost(const control_member& member, const std::string&) override {
    said.push_back("lost " + member.address);
  }
  void host_lost(member_watch::slot_process slot, std::uint32_t incarnation) override {
    said.push_back("host " + std::to_string(slot.slot) + " life " +
                   std::to_string(incarnation));
  }
  void out_of_reach(const control_member& member) override {
    said.push_back("condemned " + member.address);
  }
  void out_of_reach(member_watch::slot_process slot, std::uint32_t) override {
    said.push_back("condemned host " + std::to_string(slot.slot));
  }
};

TEST_F(member_watch_test, loses_a_member_that_is_absent_for_too_long) {
  watch.add(shard(0, {1, 1}));
  watch.connection_lost(1, true, "broke");
  EXPECT_TRUE(watch.is_member(1));
  wait(4);
  EXPECT_TRUE(take().empty());
  wait(1);
  EXPECT_EQ(take(), (strings{"condemned s0", "lost s0"}));
  EXPECT_FALSE(watch.contains(1));
}

TEST_F(member_watch_test, condemns_nobody_whose_end_is_seen) {
  watch.add(shard(0, {1, 1}));
  watch.add(shard(1, {2, 2}));
  watch.connection_lost(1, true, "broke");
  port.dead = "s0";
  wait(1);
  EXPECT_EQ(take(), strings{"lost s0"});
  watch.connection_lost(2, false, "ended");
  EXPECT_EQ(take(), strings{"lost s1"});
}

TEST_F(member_watch_test, looks_only_while_somebody_is_absent) {
  watch.add(shard(0, {1, 1}));
  watch.add(shard(1, {2, 2}));
  watch.connection_lost(1, true, "broke");
  watch.connection_lost(2, true, "broke");
  EXPECT_EQ(port.looks, 1) << "one look is on its way at most";
  const auto former = watch.add(shard(0, {3, 1}));
  ASSERT_EQ(former.size(), 1U);
  EXPECT_EQ(former[0].peer.handle, 1U);
  wait(1);
  EXPECT_EQ(port.looks, 2);
  watch.add(shard(1, {4, 2}));
  wait(100);
  EXPECT_EQ(port.looks, 2);
  EXPECT_TRUE(take().empty());
}

TEST_F(member_watch_test, loses_an_absent_member_of_whose_end_the_launcher_tells) {
  watch.add(shard(0, {1, 1}));
  watch.process_ended({.role = process_role::shard, .job = "", .index = 0}, 1);
  EXPECT_TRUE(take().empty()) << "it is present: its connection tells";
  watch.connection_lost(1, true, "broke");
  EXPECT_EQ(take(), strings{"lost s0"});
}

class host_watch_test : public member_watch_test {
 protected:
  host_watch_test() : member_watch_test(true) {
    watch.add_host({0, 0}, 1, {1, 7});
    watch.add(shard(0, {2, 7}));
    port.take();
  }
};

TEST_F(host_watch_test, knows_the_latest_process_of_a_slot) {
  EXPECT_EQ(watch.host({0, 0}).handle, 1U);
  watch.add_host({0, 0}, 2, {3, 8});
  EXPECT_EQ(port.take(), strings{"watch 3"});
  EXPECT_EQ(watch.host({0, 0}).handle, 3U);
  EXPECT_FALSE(watch.contains(1));
  watch.connection_lost(1, false, "ended");
  EXPECT_TRUE(take().empty());
}

TEST_F(host_watch_test, loses_a_process_with_its_absent_members) {
  watch.connection_lost(1, true, "broke");
  watch.connection_lost(2, true, "broke");
  watch.process_ended({.role = process_role::shard, .job = "", .index = 0}, 2);
  EXPECT_TRUE(take().empty()) << "that was another life";
  watch.process_ended({.role = process_role::shard, .job = "", .index = 0}, 1);
  EXPECT_EQ(take(), (strings{"host 0 life 1", "lost s0"}));
}

TEST_F(host_watch_test, condemns_a_process_that_does_not_come_back) {
  watch.connection_lost(1, true, "broke");
  wait(5);
  EXPECT_EQ(take(), (strings{"condemned host 0", "host 0 life 1"}));
  wait(5);
  EXPECT_TRUE(take().empty()) << "once";
}

}  // namespace
}  // namespace tidegate::actors
