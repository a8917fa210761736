// Which frames of an actor share a message, and when they go.
#include "actors/seam/frame_sender.hpp"

#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "actors/reactor/reactor_home.hpp"
#include "runtime/transport/loopback.hpp"
#include "runtime/transport/silent_sink.hpp"
#include "tests/support/local_cluster.hpp"

namespace tidegate::tests {
namespace {

constexpr std::size_t small_bytes = 1024;
constexpr std::size_t large_bytes = 64U << 10U;
constexpr std::size_t frames_together = policies::send_limits{}.bundle_frames;
constexpr std::size_t messages_most = policies::send_limits{}.messages;

// Tells the sender what has been sent, and keeps what that was for.
struct teller final : runtime::frame_sink {
  runtime::buffer place(const runtime::frame_header&) override { return {}; }
  void on_frame(const runtime::frame_header&, runtime::buffer) override {}
  void on_frame_lost(const runtime::frame_header&) override {}
  void on_sent(runtime::send_token token, const runtime::status&) override {
    done.push_back(sender->on_sent(token));
  }
  void on_bad_frame(const runtime::status&) override {}
  void on_peer_lost(runtime::peer_id, const runtime::status&) override {}

  actors::frame_sender* sender = nullptr;
  std::vector<runtime::send_token> done;
};

struct timeless_home final : actors::reactor_home {
  using reactor_home::reactor_home;
  void look_in(std::int64_t) override {}
  void report_unreachable(const std::vector<policies::unreachable_peer>&) override {}
};

class frame_sender_test : public testing::Test {
 protected:
  void SetUp() override {
    auto reactor = actors::reactor::start(
        process.get(),
        [this] {
          return runtime::expected<std::unique_ptr<runtime::link>>(network.make_link());
        },
        0);
    ASSERT_TRUE(reactor);
    home = std::move(*reactor);
    other->set_sink(&nobody);
    driver.emplace(*home);
    shells_home.emplace(*home);
    sender.emplace(*shells_home);
    sink.sender = &*sender;
    home->open_link(&sink);
    peer = *home->link().connect(other->address());
  }
  void TearDown() override {
    home->close_link(0);
    sender->drop();
  }

  void send(std::size_t bytes, runtime::send_token done, std::uint64_t priority = 1) {
    runtime::frame_header header;
    header.payload_bytes = bytes;
    sender->send(peer, header, std::span(payload).first(bytes), priority, done);
  }
  std::uint64_t messages() const { return home->link().counters().messages_sent; }
  std::uint64_t frames() const { return home->link().counters().frames_sent; }
  static std::vector<runtime::send_token> numbers(std::size_t to) {
    std::vector<runtime::send_token> all;
    for (std::size_t i = 1; i <= to; ++i) all.push_back(i);
    return all;
  }

  actors::process_system process;
  runtime::loopback_network network;
  runtime::silent_sink nobody;
  std::unique_ptr<runtime::link> other = network.make_link();
  std::unique_ptr<actors::reactor> home;
  std::optional<actors::reactor::inline_driver> driver;
  std::optional<timeless_home> shells_home;
  std::optional<actors::frame_sender> sender;
  teller sink;
  runtime::peer_id peer = 0;
  std::vector<std::byte> payload = std::vector<std::byte>(large_bytes);
};

TEST_F(frame_sender_test, what_one_turn_adds_shares_a_message) {
  for (std::uint64_t i = 1; i <= 5; ++i) send(small_bytes, i);
  EXPECT_EQ(messages(), 0U);
  driver->turn();
  EXPECT_EQ(messages(), 1U);
  EXPECT_EQ(frames(), 5U);
  EXPECT_EQ(sink.done, numbers(5)) << "each is told";
  send(small_bytes, 6);
  driver->turn();
  EXPECT_EQ(messages(), 2U) << "and a lone one goes in its turn";
  EXPECT_EQ(sink.done, numbers(6));
}

TEST_F(frame_sender_test, a_large_frame_and_a_full_bundle_go_at_once) {
  send(large_bytes, 1);
  EXPECT_EQ(messages(), 1U);
  for (std::uint64_t i = 0; i < frames_together; ++i) {
    EXPECT_EQ(messages(), 1U);
    send(small_bytes, 2 + i);
  }
  EXPECT_EQ(messages(), 2U);
  EXPECT_EQ(frames(), 1 + frames_together);
  driver->turn();
  EXPECT_EQ(messages(), 2U);
  EXPECT_EQ(sink.done, numbers(1 + frames_together));
}

TEST_F(frame_sender_test, what_is_over_the_limit_follows_as_messages_are_sent) {
  const auto bundles = messages_most + 3;
  for (std::uint64_t i = 0; i < bundles * frames_together; ++i) send(small_bytes, 1 + i);
  EXPECT_EQ(messages(), messages_most);
  driver->turn();
  EXPECT_EQ(messages(), bundles);
  driver->turn();
  EXPECT_EQ(sink.done, numbers(bundles * frames_together));
}

TEST_F(frame_sender_test, what_waits_is_forgotten_when_it_is_dropped) {
  send(small_bytes, 1);
  sender->drop();
  driver->turn();
  EXPECT_EQ(messages(), 0U);
  send(small_bytes, 2);
  driver->turn();
  EXPECT_EQ(messages(), 1U);
  EXPECT_EQ(sink.done, std::vector<runtime::send_token>{2});
}

TEST_F(frame_sender_test, a_link_that_is_closed_takes_what_waits_along) {
  send(small_bytes, 1);
  home->close_link();
  EXPECT_EQ(messages(), 1U);
}

}  // namespace
}  // namespace tidegate::tests
