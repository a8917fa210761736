#include "tests/sim/network.hpp"

#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tidegate::sim {
namespace {

// Keeps what it is told.
class listener final : public endpoint {
 public:
  memory_view place(process_id, const runtime::frame_header& header) override {
    if (refuses) return {};
    return {std::make_shared<std::vector<float>>(header.payload_bytes / 4), 0,
            header.payload_bytes / 4};
  }
  void on_frame(process_id, const runtime::frame_header& header, memory_view payload) override {
    told.push_back("frame " + std::to_string(header.clock));
    if (!payload) return;
    values.assign(payload.values().begin(), payload.values().end());
    sums.push_back(std::accumulate(values.begin(), values.end(), 0.0F));
  }
  void on_frame_lost(process_id, const runtime::frame_header&) override {
    told.emplace_back("lost");
  }
  void on_sent(std::uint64_t token) override {
    told.push_back("sent " + std::to_string(token));
    if (when_sent) when_sent();
  }
  void on_peer_lost(process_id peer) override {
    told.push_back("peer lost " + std::to_string(peer));
  }
  void on_connection_broke(process_id peer) override {
    told.push_back("broken " + std::to_string(peer));
  }

  bool refuses = false;
  std::function<void()> when_sent;
  std::vector<std::string> told;
  std::vector<float> values;
  std::vector<float> sums;  // of all payloads
};

class network_test : public testing::Test {
 protected:
  void SetUp() override {
    net.join(1, one);
    net.join(2, two);
  }
  void run() {
    while (time.step()) continue;
  }
  void post(std::uint64_t clock, const region& from = nullptr) {
    runtime::frame_header header;
    header.clock = clock;
    header.payload_bytes = from ? from->size() * 4 : 0;
    net.post(1, 2, header, {from, 0, from ? from->size() : 0}, clock);
  }
  std::size_t frames() const {
    return static_cast<std::size_t>(std::count_if(
        two.told.begin(), two.told.end(), [](auto& t) { return t.starts_with("frame"); }));
  }

  schedule time;
  draws chance{1};
  network net{time, chance};
  listener one, two;
};

TEST_F(network_test, frames_overtake_each_other_and_questions_do_not) {
  std::vector<int> asked;
  for (int i = 0; i < 50; ++i) {
    post(static_cast<std::uint64_t>(i));
    net.ask(1, 2, [&asked, i] { asked.push_back(i); }, {});
  }
  run();
  EXPECT_EQ(frames(), 50u);
  EXPECT_FALSE(std::is_sorted(two.told.begin(), two.told.end(), [](auto& a, auto& b) {
    return std::stoi(a.substr(6)) < std::stoi(b.substr(6));
  }));
  EXPECT_TRUE(std::is_sorted(asked.begin(), asked.end()));
  EXPECT_EQ(asked.size(), 50u);
}

TEST_F(network_test, a_payload_is_read_late_so_that_writing_too_early_shows) {
  const auto memory = std::make_shared<std::vector<float>>(4, 1.0F);
  post(7, memory);
  memory->assign(4, 2.0F);
  run();
  EXPECT_EQ(two.values, std::vector<float>(4, 2.0F));
  EXPECT_EQ(one.told, std::vector<std::string>{"sent 7"});
}

TEST_F(network_test, a_second_copy_has_the_first_ones_bytes_and_is_not_told_of) {
  net.set_faults({.duplicate = 1});
  const auto memory = std::make_shared<std::vector<float>>(4, 1.0F);
  one.when_sent = [&] { memory->assign(4, 2.0F); };
  post(7, memory);
  run();
  EXPECT_EQ(frames(), 2u);
  EXPECT_EQ(two.sums, (std::vector<float>{4, 4})) << "though the memory has been written again";
  EXPECT_EQ(one.told, std::vector<std::string>{"sent 7"});
}

TEST_F(network_test, what_is_dropped_never_comes_and_its_sender_does_not_know) {
  net.set_faults({.drop = 1});
  post(7);
  run();
  EXPECT_EQ(frames(), 0u);
  EXPECT_EQ(one.told, std::vector<std::string>{"sent 7"});
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
  const auto memory = std::make_shared<std::vector<float>>(4, 1.0F);
  std::vector<int> asked;
  net.stall(2);
  for (int i = 0; i < 10; ++i) {
    post(static_cast<std::uint64_t>(i), memory);
    net.ask(1, 2, [&asked, i] { asked.push_back(i); }, {});
  }
  run();
  EXPECT_TRUE(two.told.empty());
  EXPECT_TRUE(asked.empty());
  EXPECT_TRUE(one.told.empty()) << "nothing has been sent that nobody has taken";
  net.go_on(2);
  run();
  EXPECT_EQ(frames(), 10u);
  EXPECT_EQ(one.told.size(), 10u);
  EXPECT_TRUE(std::is_sorted(asked.begin(), asked.end()));
  EXPECT_EQ(asked.size(), 10u);
}

TEST_F(network_test, who_dies_while_it_is_stalled_has_heard_nothing_and_is_heard_of) {
  net.stall(2);
  post(7, std::make_shared<std::vector<float>>(4, 1.0F));
  run();
  net.leave(2);
  run();
  EXPECT_TRUE(two.told.empty());
  EXPECT_EQ(one.told, (std::vector<std::string>{"sent 7", "peer lost 2"}));
}

TEST_F(network_test, the_frames_of_a_bundle_come_together_in_their_order) {
  std::vector<outgoing> bundle(3);
  for (std::uint64_t i = 0; i < 3; ++i) {
    bundle[i].header.clock = bundle[i].token = i;
    bundle[i].header.payload_bytes = 8;
    bundle[i].payload = {std::make_shared<std::vector<float>>(2, static_cast<float>(i)), 0, 2};
  }
  net.post(1, 2, bundle);
  EXPECT_TRUE(time.step());
  EXPECT_EQ(two.told, (std::vector<std::string>{"frame 0", "frame 1", "frame 2"}));
  EXPECT_EQ(two.sums, (std::vector<float>{0, 2, 4}));
  EXPECT_EQ(one.told, (std::vector<std::string>{"sent 0", "sent 1", "sent 2"}));
}

TEST_F(network_test, a_death_is_heard_of_by_whom_it_concerns_and_ends_what_is_on_its_way) {
  listener stranger;
  net.join(3, stranger);
  const auto memory = std::make_shared<std::vector<float>>(4, 1.0F);
  post(7, memory);
  // Between its place and its bytes.
  while (two.told.empty() && time.step()) {
    if (time.steps() == 1) net.leave(1);
  }
  run();
  EXPECT_EQ(frames(), 0u);
  EXPECT_NE(std::find(two.told.begin(), two.told.end(), "lost"), two.told.end());
  EXPECT_NE(std::find(two.told.begin(), two.told.end(), "peer lost 1"), two.told.end());
  EXPECT_TRUE(stranger.told.empty());
  bool failed = false;
  net.leave(2);
  net.ask(
      3, 2, [] {}, [&] { failed = true; });
  run();
  EXPECT_TRUE(failed);
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
