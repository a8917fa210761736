#include "launch/simulate/cluster/network.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tidegate::sim {
namespace {

// Keeps what it is told.
class listener final : public endpoint {
 public:
  runtime::buffer frame_arriving(process_id, const runtime::frame_header& header) override {
    if (refuses) return {};
    auto& room = places.emplace_back(header.payload_bytes / sizeof(float));
    return runtime::buffer::view(std::as_writable_bytes(std::span(room)));
  }
  void frame_arrived(process_id, const runtime::frame_header& header,
                     runtime::buffer payload) override {
    heard.push_back("frame " + std::to_string(header.clock));
    if (!payload) return;
    values.assign(payload.floats(), payload.floats() + payload.size() / sizeof(float));
    sums.push_back(std::accumulate(values.begin(), values.end(), 0.0F));
  }
  void frame_lost(process_id, const runtime::frame_header&) override {
    heard.emplace_back("lost");
  }
  void frame_sent(std::uint64_t token) override {
    heard.push_back("sent " + std::to_string(token));
    if (when_sent) when_sent();
  }
  void on_peer_lost(process_id peer) override {
    heard.push_back("peer lost " + std::to_string(peer));
  }
  void on_control_broke(process_id peer, std::uint32_t number) override {
    heard.push_back("control " + std::to_string(number) + " to " + std::to_string(peer) +
                    " broke");
  }
  void connection_lost(connection_id, bool died) override {
    heard.emplace_back(died ? "connection ended" : "connection broke");
  }

  bool refuses = false;
  std::function<void()> when_sent;
  std::vector<std::string> heard;
  std::deque<std::vector<float>> places;
  std::vector<float> values;
  std::vector<float> sums;  // of all payloads
};

class network_test : public testing::Test {
 protected:
  void SetUp() override {
    net.join(1, left);
    net.join(2, right);
    way = net.connect(1, 2);
  }
  void run() {
    while (time.step()) continue;
  }
  void post(std::uint64_t clock, std::span<const float> from = {}) {
    runtime::outgoing frame{.header = {}, .payload = std::as_bytes(from), .token = clock};
    frame.header.clock = clock;
    frame.header.payload_bytes = from.size_bytes();
    net.post(way, {&frame, 1});
  }
  std::size_t frames() const {
    return static_cast<std::size_t>(
        std::count_if(right.heard.begin(), right.heard.end(),
                      [](auto& t) { return t.starts_with("frame"); }));
  }

  schedule time;
  draws chance{1};
  network net{time, chance, 2};
  listener left, right;
  connection_id way = 0;
};

TEST_F(network_test, news_come_in_order_and_change_nothing_else_that_is_drawn) {
  const auto drawn = chance.count();
  std::vector<int> told;
  for (int i = 0; i < 50; ++i) net.tell_news(1, 2, [&told, i] { told.push_back(i); });
  run();
  EXPECT_EQ(told.size(), 50u);
  EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
  EXPECT_EQ(chance.count(), drawn);
  net.tell_news(1, 2, [&told] { told.push_back(50); });
  net.leave(2);
  run();
  EXPECT_EQ(told.size(), 50u) << "nobody is there any more";
}

TEST_F(network_test, frames_overtake_each_other_and_questions_do_not) {
  std::vector<int> asked;
  for (int i = 0; i < 50; ++i) {
    post(static_cast<std::uint64_t>(i));
    net.ask(1, 2, [&asked, i] { asked.push_back(i); }, {});
  }
  run();
  EXPECT_EQ(frames(), 50u);
  EXPECT_FALSE(std::is_sorted(right.heard.begin(), right.heard.end(), [](auto& a, auto& b) {
    return std::stoi(a.substr(6)) < std::stoi(b.substr(6));
  }));
  EXPECT_TRUE(std::is_sorted(asked.begin(), asked.end()));
  EXPECT_EQ(asked.size(), 50u);
}

TEST_F(network_test, a_payload_is_read_late_so_that_writing_too_early_shows) {
  std::vector<float> memory(4, 1.0F);
  post(7, memory);
  memory.assign(4, 2.0F);
  run();
  EXPECT_EQ(right.values, std::vector<float>(4, 2.0F));
  EXPECT_EQ(left.heard, std::vector<std::string>{"sent 7"});
}

TEST_F(network_test, a_second_copy_has_the_first_ones_bytes_and_is_not_told_of) {
  net.set_faults({.duplicate = 1});
  std::vector<float> memory(4, 1.0F);
  left.when_sent = [&] { memory.assign(4, 2.0F); };
  post(7, memory);
  run();
  EXPECT_EQ(frames(), 2u);
  EXPECT_EQ(right.sums, (std::vector<float>{4, 4}))
      << "though the memory has been written again";
  EXPECT_EQ(left.heard, std::vector<std::string>{"sent 7"});
}

TEST_F(network_test, what_is_dropped_never_comes_and_its_sender_does_not_know) {
  net.set_faults({.drop = 1});
  post(7);
  run();
  EXPECT_EQ(frames(), 0u);
  EXPECT_EQ(left.heard, std::vector<std::string>{"sent 7"});
}

TEST_F(network_test, nothing_passes_a_partition_before_its_end) {
  net.partition({1}, 10 * second);
  nanoseconds asked_at = 0;
  post(7);
  net.ask(1, 2, [&] { asked_at = time.now(); }, {});
  run();
  EXPECT_EQ(frames(), 1u);
  EXPECT_GE(asked_at, 10 * second);
}

TEST_F(network_test, what_reaches_a_stalled_process_waits_and_comes_in_order) {
  std::vector<float> memory(4, 1.0F);
  std::vector<int> asked;
  net.stall(2);
  for (int i = 0; i < 10; ++i) {
    post(static_cast<std::uint64_t>(i) + 1, memory);
    net.ask(1, 2, [&asked, i] { asked.push_back(i); }, {});
  }
  run();
  EXPECT_TRUE(right.heard.empty());
  EXPECT_TRUE(asked.empty());
  EXPECT_TRUE(left.heard.empty()) << "nothing has been sent that nobody has taken";
  net.go_on(2);
  run();
  EXPECT_EQ(frames(), 10u);
  EXPECT_EQ(left.heard.size(), 10u);
  EXPECT_TRUE(std::is_sorted(asked.begin(), asked.end()));
  EXPECT_EQ(asked.size(), 10u);
}

TEST_F(network_test, who_dies_while_it_is_stalled_has_heard_nothing_and_is_heard_of) {
  net.stall(2);
  const std::vector<float> memory(4, 1.0F);
  post(7, memory);
  run();
  net.leave(2);
  run();
  EXPECT_TRUE(right.heard.empty());
  EXPECT_EQ(left.heard, (std::vector<std::string>{"sent 7", "connection ended"}));
}

TEST_F(network_test, the_frames_of_a_bundle_come_together_in_their_order) {
  std::vector<runtime::outgoing> bundle(3);
  std::vector<std::vector<float>> payloads;
  for (std::uint64_t i = 0; i < 3; ++i) payloads.emplace_back(2, static_cast<float>(i));
  for (std::uint64_t i = 0; i < 3; ++i) {
    bundle[i].header.clock = i;
    bundle[i].token = i + 1;
    bundle[i].header.payload_bytes = 8;
    bundle[i].payload = std::as_bytes(std::span(payloads[i]));
  }
  net.post(way, bundle);
  EXPECT_TRUE(time.step());
  EXPECT_EQ(right.heard, (std::vector<std::string>{"frame 0", "frame 1", "frame 2"}));
  EXPECT_EQ(right.sums, (std::vector<float>{0, 2, 4}));
  EXPECT_EQ(left.heard, (std::vector<std::string>{"sent 1", "sent 2", "sent 3"}));
}

TEST_F(network_test, a_death_is_heard_of_by_whom_it_concerns_and_ends_what_is_on_its_way) {
  listener stranger;
  net.join(3, stranger);
  net.introduce(1, 2);
  std::vector<float> memory(4, 1.0F);
  post(7, memory);
  // Between its place and its bytes.
  while (right.heard.empty() && time.step()) {
    if (time.steps() == 1) net.leave(1);
  }
  run();
  EXPECT_EQ(frames(), 0u);
  EXPECT_NE(std::find(right.heard.begin(), right.heard.end(), "lost"), right.heard.end());
  EXPECT_NE(std::find(right.heard.begin(), right.heard.end(), "peer lost 1"),
            right.heard.end());
  EXPECT_TRUE(stranger.heard.empty());
  bool failed = false;
  net.leave(2);
  net.ask(
      3, 2, [] {}, [&] { failed = true; });
  run();
  EXPECT_TRUE(failed);
}

TEST_F(network_test, a_control_connection_that_breaks_loses_what_is_on_its_way) {
  using strings = std::vector<std::string>;
  std::vector<std::string> said;
  const auto ask = [&](const std::string& text) {
    net.ask(
        1, 2, [&said, text] { said.push_back(text); },
        [&said, text] { said.push_back(text + " failed"); });
  };
  ask("before");
  net.tell(2, 1, 0, [&] { said.emplace_back("told before"); });
  net.break_control(1, 2, second, 2);
  ask("meanwhile");
  nanoseconds late = 0;
  while (right.heard.empty() && time.step()) late = time.now();
  run();
  EXPECT_EQ(said, strings{"meanwhile failed"});
  EXPECT_EQ(left.heard, strings{"control 0 to 2 broke"});
  EXPECT_EQ(right.heard, strings{"control 0 to 1 broke"});
  EXPECT_GT(late, 5 * millisecond) << "it hears late";
  time.at(std::max(time.now(), second), [] {});
  run();
  said.clear();
  ask("afterwards");
  net.tell(2, 1, 0, [&] { said.emplace_back("over the former one"); });
  run();
  EXPECT_EQ(said, strings{"afterwards"});
}

TEST_F(network_test, a_connection_that_breaks_loses_what_is_on_its_way_and_another_is_made) {
  post(7);
  net.break_connection(1, 2, second);
  run();
  EXPECT_EQ(frames(), 0u);
  EXPECT_EQ(left.heard.back(), "connection broke");
  time.at(second, [] {});
  run();
  way = net.connect(1, 2);
  post(8);
  run();
  EXPECT_EQ(right.heard, std::vector<std::string>{"frame 8"});
}

TEST_F(network_test, an_attempt_that_hangs_is_told_of_late_unless_it_is_given_up) {
  net.break_connection(1, 2, second, true);
  net.disconnect(way);
  way = net.connect(1, 2);
  const auto given_up = net.connect(1, 2);
  net.disconnect(given_up);
  run();
  EXPECT_EQ(left.heard, std::vector<std::string>{"connection broke"});
  EXPECT_GT(time.now(), second);
}

TEST(schedule, equal_times_keep_their_order) {
  schedule time;
  std::string order;
  time.at(5, [&] { order += "b"; });
  time.at(3, [&] {
    order += "a";
    time.at(5, [&] { order += "d"; });
  });
  time.at(5, [&] { order += "c"; });
  while (time.step()) continue;
  EXPECT_EQ(order, "abcd");
  EXPECT_EQ(time.now(), 5);
}

}  // namespace
}  // namespace tidegate::sim
