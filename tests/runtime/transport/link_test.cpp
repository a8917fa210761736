// What every backend of the link promises, run over loopback, rings and UCX alike.
#include "runtime/transport/link.hpp"

#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <poll.h>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/streams/stream_link.hpp"
#include "runtime/transport/host_link.hpp"
#include "runtime/transport/loopback.hpp"
#include "runtime/transport/null_link.hpp"
#include "tests/support/link_pair.hpp"
#ifdef TIDEGATE_TEST_UCX
#include "runtime/ucx/ucx_link.hpp"
#endif

namespace tidegate::runtime {
namespace {

using clock = std::chrono::steady_clock;
using tests::push_header;
using tests::recorder;

using factory = std::function<std::unique_ptr<link>()>;

class link_test : public testing::TestWithParam<std::string>, protected tests::link_pair {
 protected:
  void SetUp() override { join(make(), make()); }

  std::unique_ptr<link> make() {
#ifdef TIDEGATE_TEST_UCX
    if (GetParam() == "ucx") return tests::link_of(make_ucx_link());
#endif
    if (GetParam().ends_with("streams"))
      return tests::link_of(open_stream_link({.sealed = GetParam() == "sealed_streams"}));
    if (GetParam() == "host") return tests::link_of(make_host_link(network.make_link()));
    if (GetParam() == "host_alone") return tests::link_of(make_host_link(*make_null_link()));
    return network.make_link();
  }

  bool until(const std::function<bool()>& condition) {
    return tests::until(*a, *b, condition);
  }

  loopback_network network;
};

TEST_P(link_test, payloads_of_every_size_arrive_whole) {
  std::vector<std::vector<std::byte>> payloads;
  for (std::size_t size : {4ul, 64ul, 4096ul, 65'536ul, 262'144ul, 4ul << 20}) {
    auto& payload = payloads.emplace_back(size);
    for (std::size_t i = 0; i < size; ++i) payload[i] = static_cast<std::byte>(i * 31 + size);
  }
  for (std::size_t i = 0; i < payloads.size(); ++i)
    a->post(to_b, push_header(payloads[i].size(), i), payloads[i], 100 + i);
  ASSERT_TRUE(until([&] {
    return at_b.arrivals.size() == payloads.size() && at_a.sent.size() == payloads.size();
  }));
  for (const auto& arrival : at_b.arrivals)
    EXPECT_EQ(arrival.payload, payloads[arrival.header.clock]);
  for (const auto& [token, outcome] : at_a.sent) EXPECT_TRUE(outcome.ok());
  EXPECT_EQ(b->counters().frames_received, payloads.size());
}

TEST_P(link_test, frames_without_payload_arrive) {
  frame_header header;
  header.kind = frame_kind::pull;
  header.clock = 42;
  a->post(to_b, header, {}, 0);
  ASSERT_TRUE(until([&] { return at_b.arrivals.size() == 1; }));
  EXPECT_EQ(at_b.arrivals[0].header, header);
  EXPECT_TRUE(at_a.sent.empty()) << "token 0 is not told";
}

TEST_P(link_test, a_refused_payload_is_dropped_counted_and_its_sender_released) {
  at_b.refuse = true;
  std::vector<std::byte> small(64), large(1 << 20);
  a->post(to_b, push_header(small.size(), 1), small, 1);
  a->post(to_b, push_header(large.size(), 2), large, 2);
  ASSERT_TRUE(
      until([&] { return at_a.sent.size() == 2 && b->counters().frames_refused == 2; }));
  EXPECT_TRUE(at_b.arrivals.empty());
  at_b.refuse = false;
  a->post(to_b, push_header(large.size(), 3), large, 3);
  EXPECT_TRUE(until([&] { return at_b.arrivals.size() == 1; })) << "the link still works";
}

TEST_P(link_test, sleeping_on_the_descriptor_misses_nothing) {
  for (int round = 0; round < 20; ++round) {
    at_b.arrivals.clear();
    // Quiesce both, then arm b.
    const auto deadline = clock::now() + std::chrono::seconds(10);
    bool armed = false;
    while (!armed && clock::now() < deadline) {
      while (a->progress() + b->progress() > 0) continue;
      armed = b->arm();
    }
    ASSERT_TRUE(armed);
    frame_header header;
    header.kind = frame_kind::pull;
    header.clock = static_cast<std::uint64_t>(round);
    a->post(to_b, header, {}, 0);
    const auto give_up = clock::now() + std::chrono::seconds(10);
    while (at_b.arrivals.empty() && clock::now() < give_up) {
      a->progress();  // a stream transport connects first
      pollfd waits{.fd = b->event_fd(), .events = POLLIN, .revents = 0};
      if (poll(&waits, 1, 50) > 0) do {
          b->progress();
        } while (!b->arm() && at_b.arrivals.empty());
    }
    ASSERT_EQ(at_b.arrivals.size(), 1u) << "round " << round;
  }
}

TEST_P(link_test, an_address_that_is_none_is_refused) {
  if (GetParam() == "ucx")
    return;  // UCX trusts its address blobs; the control plane carries them
  EXPECT_FALSE(a->connect("nonsense"));
  EXPECT_FALSE(a->connect("loopback:99"));
  EXPECT_FALSE(a->connect(""));
}

TEST_P(link_test, a_closed_peer_is_reported) {
  frame_header header;
  header.kind = frame_kind::pull;
  a->post(to_b, header, {}, 0);
  ASSERT_TRUE(until([&] { return at_b.arrivals.size() == 1; }));
  b->close(100);
  b.reset();
  std::vector<std::byte> payload(1 << 20);
  a->post(to_b, push_header(payload.size(), 1), payload, 7);
  const auto deadline = clock::now() + std::chrono::seconds(60);
  while (at_a.lost.empty() && clock::now() < deadline) a->progress();
  ASSERT_EQ(at_a.lost, std::vector<peer_id>{to_b});
  const auto time = clock::now() + std::chrono::seconds(10);
  while (!at_a.sent.contains(7) && clock::now() < time) a->progress();
  ASSERT_TRUE(at_a.sent.contains(7));
  EXPECT_FALSE(at_a.sent[7].ok());
}

// Of sizes that differ, together less than `most` bytes.
class some_frames {
 public:
  some_frames(std::size_t many, std::size_t most) {
    for (std::size_t i = 0; i < many; ++i) {
      auto& payload = payloads_.emplace_back(most / many / (1 + i % 7) / 4 * 4);
      for (std::size_t at = 0; at < payload.size(); ++at)
        payload[at] = static_cast<std::byte>(at * 31 + i);
      outgoing message;
      message.header.kind = frame_kind::push;
      message.header.clock = i;
      message.header.payload_bytes = payload.size();
      message.payload = payload;
      message.token = 100 + i;
      frames.push_back(message);
    }
  }
  bool is(const recorder::arrival& arrived) const {
    return arrived.header == frames[arrived.header.clock].header &&
           arrived.payload == payloads_[arrived.header.clock];
  }

  std::vector<outgoing> frames;

 private:
  std::deque<std::vector<std::byte>> payloads_;
};

TEST_P(link_test, a_bundle_is_one_message_and_arrives_as_its_frames) {
  ASSERT_GE(a->bundle_frames_most(), 2U);
  for (const std::size_t many : {std::size_t{1}, std::size_t{2}, a->bundle_frames_most()})
    for (const std::size_t bytes : {4096U, 65'536U, 1U << 20U}) {
      at_b.arrivals.clear();
      at_a.sent_tokens.clear();
      const some_frames sent(many, bytes);
      const auto before = a->counters();
      const auto copied = b->counters().payload_bytes_copied;
      a->post_bundle(to_b, sent.frames);
      ASSERT_TRUE(until([&] {
        return at_b.arrivals.size() == many && at_a.sent_tokens.size() == many;
      })) << many
          << " frames of " << bytes << " bytes";
      std::uint64_t all = 0;
      for (std::size_t i = 0; i < many; ++i) {
        EXPECT_EQ(at_b.arrivals[i].header.clock, i) << "in order";
        EXPECT_TRUE(sent.is(at_b.arrivals[i])) << i;
        EXPECT_EQ(at_a.sent_tokens[i], 100 + i);
        EXPECT_TRUE(at_a.sent[100 + i].ok());
        all += sent.frames[i].payload.size();
      }
      EXPECT_EQ(a->counters().messages_sent, before.messages_sent + 1);
      EXPECT_EQ(a->counters().frames_sent, before.frames_sent + many);
      EXPECT_EQ(a->counters().payload_bytes_sent, before.payload_bytes_sent + all);
      if (GetParam().ends_with(
              "streams"))  // read where they belong, but for what was read ahead
        EXPECT_LE(b->counters().payload_bytes_copied, copied + all);
      else
        EXPECT_EQ(b->counters().payload_bytes_copied, copied + all);
    }
}

TEST_P(link_test, a_frame_of_a_bundle_that_is_refused_leaves_the_others) {
  at_b.refused_clocks = {0, 3, 4, 9};
  const some_frames sent(10, 100'000);
  a->post_bundle(to_b, sent.frames);
  ASSERT_TRUE(until([&] {
    return at_b.arrivals.size() == 6 && at_a.sent_tokens.size() == 10 &&
           b->counters().frames_refused == 4;
  }));
  for (const auto& arrival : at_b.arrivals) {
    EXPECT_FALSE(at_b.refused_clocks.contains(arrival.header.clock));
    EXPECT_TRUE(sent.is(arrival)) << arrival.header.clock;
  }
}

TEST_P(link_test, bundles_to_a_closed_peer_are_told_as_lost) {
  b->close(100);
  b.reset();
  const some_frames sent(8, 1 << 20);
  const auto deadline = clock::now() + std::chrono::seconds(60);
  while (at_a.lost.empty() && clock::now() < deadline) {
    if (at_a.sent_tokens.size() % 8 == 0) a->post_bundle(to_b, sent.frames);
    a->progress();
  }
  ASSERT_EQ(at_a.lost, std::vector<peer_id>{to_b});
  at_a.sent_tokens.clear();
  a->post_bundle(to_b, sent.frames);
  const auto time = clock::now() + std::chrono::seconds(10);
  while (at_a.sent_tokens.size() < 8 && clock::now() < time) a->progress();
  ASSERT_GE(at_a.sent_tokens.size(), 8U);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_FALSE(at_a.sent[100 + i].ok());
}

#ifdef TIDEGATE_TEST_UCX
INSTANTIATE_TEST_SUITE_P(backends, link_test,
                         testing::Values("loopback", "host", "host_alone", "streams",
                                         "sealed_streams", "ucx"),
                         [](const auto& instance) { return instance.param; });
#else
INSTANTIATE_TEST_SUITE_P(backends, link_test,
                         testing::Values("loopback", "host", "host_alone", "streams",
                                         "sealed_streams"),
                         [](const auto& instance) { return instance.param; });
#endif

TEST(loopback, holding_back_reorders_and_loses_nothing) {
  loopback_network network({5, 3});
  auto a = network.make_link();
  auto b = network.make_link();
  recorder at_a, at_b;
  a->set_sink(&at_a);
  b->set_sink(&at_b);
  const auto peer = a->connect(b->address());
  ASSERT_TRUE(peer);
  frame_header header;
  header.kind = frame_kind::pull;
  for (header.clock = 0; header.clock < 100; ++header.clock) a->post(*peer, header, {}, 0);
  for (int turn = 0; turn < 1000 && at_b.arrivals.size() < 100; ++turn) b->progress();
  ASSERT_EQ(at_b.arrivals.size(), 100u);
  std::uint64_t sum = 0;
  bool reordered = false;
  for (std::size_t i = 0; i < 100; ++i) {
    sum += at_b.arrivals[i].header.clock;
    reordered = reordered || at_b.arrivals[i].header.clock != i;
  }
  EXPECT_EQ(sum, 4950u);
  EXPECT_TRUE(reordered);
}

}  // namespace
}  // namespace tidegate::runtime
