// What is left when the process at the other end has died, over UCX and over streams.
#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/far_links.hpp"

namespace tidegate::runtime {
namespace {

using clock = std::chrono::steady_clock;
using tests::push_header;
using tests::recorder;

using dead_peers = tests::far_links;

// As after kill -9 of `a` in the middle of a frame, before the network tells of it.
TEST_P(dead_peers, what_is_under_way_ends_when_a_dead_peer_is_disconnected) {
  frame_header header;
  header.kind = frame_kind::pull;
  a->post(to_b, header, {}, 0);
  b->post(to_a, header, {}, 0);
  ASSERT_TRUE(tests::until(
      *a, *b, [&] { return at_a.arrivals.size() == 1 && at_b.arrivals.size() == 1; }));
  std::vector<std::byte> payload(4 << 20);
  a->post(to_b, push_header(payload.size(), 1), payload, 1);
  b->post(to_a, push_header(payload.size(), 2), payload, 2);
  ASSERT_TRUE(tests::until(*a, *b, [&] { return !at_b.places.empty(); }));
  for (int turn = 0; turn < 1000; ++turn) b->progress();
  ASSERT_TRUE(at_b.frames_lost.empty()) << "nobody has noticed";

  b->disconnect(to_a);
  b->disconnect(to_a);
  EXPECT_TRUE(at_b.frames_lost.empty()) << "told in progress()";
  const auto time = clock::now() + std::chrono::seconds(10);
  while ((at_b.frames_lost.empty() || at_b.sent.empty()) && clock::now() < time) b->progress();
  ASSERT_EQ(at_b.frames_lost, std::vector{push_header(payload.size(), 1)});
  EXPECT_TRUE(at_b.sent.contains(2));
  EXPECT_TRUE(at_b.lost.empty()) << "who says so knows";
  b->post(to_a, push_header(payload.size(), 3), payload, 3);
  while (!at_b.sent.contains(3) && clock::now() < time) b->progress();
  EXPECT_FALSE(at_b.sent[3].ok()) << "as to any lost peer";

  const auto c = make();
  ASSERT_TRUE(c);
  recorder at_c;
  c->set_sink(&at_c);
  const auto to_c = b->connect(c->address());
  const auto from_c = c->connect(b->address());
  ASSERT_TRUE(to_c && from_c);
  b->post(*to_c, push_header(payload.size(), 4), payload, 4);
  while (at_c.arrivals.empty() && clock::now() < time) b->arm(), b->progress(), c->progress();
  EXPECT_EQ(at_c.arrivals.size(), 1U) << "to others all goes on";
}

// At any point of the transfer, from either side.
TEST_P(dead_peers, whenever_a_peer_is_disconnected_all_is_told) {
  std::vector<std::byte> payload(4 << 20);
  std::size_t whole = 0;
  for (int turns = 0; turns < 60; ++turns) {
    SetUp();
    at_a = {}, at_b = {};
    a->set_sink(&at_a);
    b->set_sink(&at_b);
    frame_header header;
    header.kind = frame_kind::pull;
    a->post(to_b, header, {}, 0);
    b->post(to_a, header, {}, 0);
    ASSERT_TRUE(tests::until(
        *a, *b, [&] { return at_a.arrivals.size() == 1 && at_b.arrivals.size() == 1; }));
    a->post(to_b, push_header(payload.size(), 1), payload, 1);
    for (int turn = 0; turn < turns; ++turn) a->progress(), b->progress();
    auto& dying = turns % 2 == 0 ? a : b;
    auto& left = turns % 2 == 0 ? b : a;
    auto& at_left = turns % 2 == 0 ? at_b : at_a;
    left->disconnect(turns % 2 == 0 ? to_a : to_b);
    const auto settled = [&] {
      if (turns % 2 == 1) return at_left.sent.contains(1);
      return at_left.frames_lost.size() + at_left.arrivals.size() - 1 == at_left.places.size();
    };
    const auto deadline = clock::now() + std::chrono::seconds(10);
    for (int turn = 0; turn < 100 || (!settled() && clock::now() < deadline); ++turn)
      left->progress();
    EXPECT_TRUE(settled()) << turns;
    whole += at_b.arrivals.size() - 1;
    dying.reset();
    left.reset();
  }
  EXPECT_LT(whole, 60U) << "some were cut off";
}

// Each side has made its connection again before, so that UCX pairs them no more: what is being
// received then hangs on an endpoint of UCX's own, which the end of the sender's does not end.
TEST_P(dead_peers, what_is_being_received_is_lost_when_its_sender_connects_again) {
  // Streams are fast: this is more than they carry in a few turns.
  std::vector<std::byte> payload(GetParam() == "ucx" ? 1 << 20 : 16 << 20);
  std::size_t heard = 0;
  const auto connect_again = [&] {
    at_a.lost.clear();
    a->disconnect(to_b);
    to_b = a->connect(b->address()).value();
    frame_header header;
    header.kind = frame_kind::pull;
    a->post(to_b, header, {}, 0);
  };
  const auto hears = [&] {
    return static_cast<std::size_t>(
               std::count_if(at_b.arrivals.begin(), at_b.arrivals.end(), [](const auto& frame) {
                 return frame.header.kind == frame_kind::pull;
               })) > heard;
  };
  // UCX may lose a connection that is made while another is closed, and says so.
  const auto connect_and_speak = [&] {
    connect_again();
    while (true) {
      if (!tests::until(*a, *b, [&] { return hears() || !at_a.lost.empty(); })) return false;
      if (hears()) break;
      connect_again();
    }
    ++heard;
    return true;
  };
  for (std::uint64_t round = 0; round < 40; ++round) {
    b->disconnect(to_a);
    to_a = b->connect(a->address()).value();
    ASSERT_TRUE(connect_and_speak());
    a->post(to_b, push_header(payload.size(), round), payload, round + 1);
    for (std::uint64_t turn = 0; turn < round; ++turn) a->progress(), b->progress();
    ASSERT_TRUE(connect_and_speak());
    const auto told = [&] {
      return at_b.frames_lost.size() + at_b.arrivals.size() - heard == at_b.places.size();
    };
    ASSERT_TRUE(tests::until(*a, *b, told)) << "round " << round;
  }
  EXPECT_FALSE(at_b.frames_lost.empty());
}

INSTANTIATE_TEST_SUITE_P(backends, dead_peers, tests::all_far_links(),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace tidegate::runtime
