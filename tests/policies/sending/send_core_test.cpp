// When frames go: at the end of a turn, at once, or as others arrive; and what is told of them.
#include "policies/sending/send_core.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tidegate::policies {
namespace {

// "0:12 1:3": messages by peer, with the names of their frames.
class send_core_test : public testing::Test, private send_shell {
 protected:
  void add(std::uint32_t peer, send_core::name done, std::uint64_t bytes = 100,
           std::uint64_t priority = 1) {
    const auto handle = core.take_handle();
    if (handle >= names.size()) names.resize(handle + std::size_t{1});
    names[handle] = done;
    core.add({.peer = peer, .handle = handle, .priority = priority, .bytes = bytes}, done);
  }
  // All frames of the oldest message have arrived: their names.
  std::string arrive() {
    std::string all;
    for (const auto handle : under_way.front()) all += std::to_string(core.sent(handle));
    under_way.erase(under_way.begin());
    return all;
  }

  send_core core{*this,
                 {.bytes = 1000,
                  .messages = 2,
                  .bundle_bytes = 400,
                  .bundle_frames = 3,
                  .small_bytes = 200}};
  std::string posted;
  int turns = 0;  // whose end is asked for
  std::vector<std::vector<std::uint32_t>> under_way;

 private:
  void post(std::uint32_t peer, std::span<const send_queue::frame> message) override {
    posted += (posted.empty() ? "" : " ") + std::to_string(peer) + ":";
    under_way.emplace_back();
    for (const auto& one : message) {
      posted += std::to_string(names[one.handle]);
      under_way.back().push_back(one.handle);
    }
  }
  void go_on_soon() override { ++turns; }

  std::vector<send_core::name> names;  // by handle
};

TEST_F(send_core_test, what_a_turn_adds_shares_a_message) {
  add(0, 1);
  add(1, 2);
  add(0, 3);
  EXPECT_EQ(posted, "");
  EXPECT_EQ(turns, 1) << "asked for once";
  core.go_on();
  EXPECT_EQ(posted, "0:13 1:2");
  EXPECT_EQ(arrive(), "13");
  add(0, 4);
  EXPECT_EQ(turns, 2);
}

TEST_F(send_core_test, what_is_worth_a_message_goes_at_once) {
  add(0, 1, 300);
  EXPECT_EQ(posted, "0:1") << "large";
  add(1, 2);
  add(1, 3);
  add(1, 4);
  EXPECT_EQ(posted, "0:1 1:234") << "full";
}

TEST_F(send_core_test, what_is_over_the_limit_follows_when_a_whole_message_has_arrived) {
  for (send_core::name i = 1; i <= 8; ++i) add(0, i);
  core.go_on();
  EXPECT_EQ(posted, "0:123 0:456");
  EXPECT_EQ(core.waiting(), 2U);
  EXPECT_EQ(core.sent(under_way.front()[0]), 1U);
  EXPECT_EQ(core.sent(under_way.front()[1]), 2U);
  EXPECT_EQ(posted, "0:123 0:456");
  EXPECT_EQ(core.sent(under_way.front()[2]), 3U);
  EXPECT_EQ(posted, "0:123 0:456 0:78");
}

TEST_F(send_core_test, what_waits_for_a_peer_is_dropped_with_its_names) {
  for (send_core::name i = 1; i <= 8; ++i) add(0, i);
  add(1, 9);
  std::vector<send_core::name> dropped;
  core.drop(0, dropped);
  EXPECT_EQ(dropped, (std::vector<send_core::name>{7, 8}));
  core.go_on();
  EXPECT_EQ(posted, "0:123 0:456 1:9");
  EXPECT_EQ(arrive(), "123") << "what is on its way is told as ever";
  EXPECT_EQ(arrive(), "456");
  EXPECT_EQ(posted, "0:123 0:456 1:9");
}

TEST_F(send_core_test, nothing_goes_when_all_is_dropped_and_everything_when_all_is_posted) {
  add(0, 1);
  core.drop();
  core.go_on();
  EXPECT_EQ(posted, "");
  for (send_core::name i = 1; i <= 8; ++i) add(0, i);
  core.post_all();
  EXPECT_EQ(posted, "0:123 0:456 0:78");
}

}  // namespace
}  // namespace tidegate::policies
