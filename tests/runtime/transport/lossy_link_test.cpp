// A link that loses, delays and doubles frames: by its seed, never torn, and every token is
// told once.
#include "runtime/transport/lossy_link.hpp"

#include <chrono>
#include <cstring>
#include <map>
#include <poll.h>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/transport/loopback.hpp"

namespace tidegate::runtime {
namespace {

constexpr std::size_t payload_bytes = 64;

struct counting_sink final : frame_sink {
  std::vector<std::byte> room = std::vector<std::byte>(payload_bytes);
  std::map<std::uint64_t, int> arrived;  // by clock
  std::map<send_token, int> told;
  int torn = 0;

  buffer place(const frame_header&) override { return buffer::view(room); }
  void on_frame(const frame_header& header, buffer payload) override {
    ++arrived[header.clock];
    for (const auto byte : payload.bytes())
      if (byte != static_cast<std::byte>(header.clock)) ++torn;
  }
  void on_frame_lost(const frame_header&) override {}
  void on_sent(send_token token, const status& outcome) override {
    EXPECT_TRUE(outcome.ok());
    ++told[token];
  }
  void on_bad_frame(const status&) override { ADD_FAILURE() << "a bad frame"; }
  void on_peer_lost(peer_id, const status&) override {}
};

class lossy_link_test : public testing::Test {
 protected:
  void make(const link_faults& faults) {
    auto link = make_lossy(network_.make_link(), faults);
    ASSERT_TRUE(link);
    from_ = std::move(*link);
    to_ = network_.make_link();
    from_->set_sink(&sender_);
    to_->set_sink(&receiver_);
    peer_ = *from_->connect(to_->address());
    ASSERT_TRUE(to_->connect(from_->address()));
  }
  // As many frames, each with payload of its clock, in memory that is overwritten as soon as
  // its token is told.
  void send(std::uint64_t frames) {
    for (std::uint64_t clock = 1; clock <= frames; ++clock) {
      frame_header header;
      header.kind = frame_kind::push;
      header.clock = clock;
      header.payload_bytes = payload_bytes;
      std::vector<std::byte> payload(payload_bytes, static_cast<std::byte>(clock));
      from_->post(peer_, header, payload, clock);
      progress([&] { return sender_.told.contains(clock); });
      std::memset(payload.data(), 0, payload.size());
    }
  }
  template <class Done>
  void progress(const Done& done) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!done() && std::chrono::steady_clock::now() < until) {
      from_->progress();
      to_->progress();
    }
    EXPECT_TRUE(done());
  }

  loopback_network network_;
  counting_sink sender_, receiver_;
  std::unique_ptr<link> from_, to_;
  peer_id peer_ = 0;
};

TEST_F(lossy_link_test, drops_its_share_and_tells_of_each) {
  make({.seed = 1, .drop = 0.25, .duplicate = 0, .delay = 0, .delay_ms_max = 0});
  EXPECT_TRUE(from_->loses_frames());
  EXPECT_FALSE(to_->loses_frames());
  send(200);
  EXPECT_EQ(sender_.told.size(), 200u);
  EXPECT_GT(receiver_.arrived.size(), 120u);
  EXPECT_LT(receiver_.arrived.size(), 180u);
  for (const auto& [clock, times] : receiver_.arrived) EXPECT_EQ(times, 1) << clock;
}

TEST_F(lossy_link_test, doubles_its_share_from_a_copy) {
  make({.seed = 2, .drop = 0, .duplicate = 0.5, .delay = 0, .delay_ms_max = 0});
  send(100);
  progress([&] { return receiver_.arrived.size() == 100; });
  int doubled = 0;
  for (const auto& [clock, times] : receiver_.arrived) doubled += times - 1;
  EXPECT_GT(doubled, 30);
  EXPECT_LT(doubled, 70);
  EXPECT_EQ(receiver_.torn, 0);
  for (const auto& [token, times] : sender_.told) EXPECT_EQ(times, 1) << token;
}

TEST_F(lossy_link_test, what_is_late_comes_when_nobody_does_anything_else) {
  make({.seed = 3, .drop = 0, .duplicate = 0, .delay = 1, .delay_ms_max = 5});
  send(20);
  while (receiver_.arrived.size() < 20) {
    if (from_->arm()) {
      pollfd fd{.fd = from_->event_fd(), .events = POLLIN, .revents = 0};
      ASSERT_EQ(::poll(&fd, 1, 10'000), 1) << "the descriptor tells when the next one is due";
    }
    from_->progress();
    to_->progress();
  }
  EXPECT_EQ(receiver_.torn, 0);
}

TEST_F(lossy_link_test, the_same_seed_loses_the_same) {
  make({.seed = 4, .drop = 0.5, .duplicate = 0, .delay = 0, .delay_ms_max = 0});
  send(50);
  const auto first = receiver_.arrived;
  receiver_.arrived.clear();
  sender_.told.clear();
  make({.seed = 4, .drop = 0.5, .duplicate = 0, .delay = 0, .delay_ms_max = 0});
  send(50);
  EXPECT_EQ(receiver_.arrived, first);
}

}  // namespace
}  // namespace tidegate::runtime
