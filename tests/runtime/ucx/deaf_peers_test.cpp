// A connection whose far end was closed while the near end lives on: UCX then carries what fits
// into one message, and drops what is announced or cut into pieces.
#include <array>
#include <bit>
#include <cstddef>
#include <deque>
#include <memory>
#include <poll.h>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/ucx/ucx_hearing.hpp"
#include "tests/support/ucx_pair.hpp"

namespace tidegate::runtime {
namespace {

using tests::push_header;

class deaf_peers : public tests::ucx_pair {
 protected:
  bool is_lost() const { return !at_a.lost.empty() || !at_b.lost.empty(); }

  // Makes each lost connection again.
  void connect_again() {
    if (!std::exchange(at_a.lost, {}).empty()) {
      a->disconnect(to_b);
      to_b = a->connect(b->address()).value();
    }
    if (!std::exchange(at_b.lost, {}).empty()) {
      b->disconnect(to_a);
      to_a = b->connect(a->address()).value();
    }
  }

  // Returns true if both have sent a payload and know that it arrived; false if a connection is
  // lost first.
  bool exchange(std::uint64_t number) {
    payloads.emplace_back(1 << 20);
    auto& payload = payloads.back();
    const auto heard_a = at_a.arrivals.size();
    const auto heard_b = at_b.arrivals.size();
    a->post(to_b, push_header(payload.size(), number), payload, number);
    b->post(to_a, push_header(payload.size(), number), payload, number);
    const auto exchanged = [&] {
      return at_a.arrivals.size() > heard_a && at_b.arrivals.size() > heard_b &&
             at_a.sent.contains(number) && at_b.sent.contains(number);
    };
    return tests::until(*a, *b, [&] { return exchanged() || is_lost(); }) && exchanged();
  }

  std::deque<std::vector<std::byte>> payloads;
};

TEST_F(deaf_peers, a_connection_whose_far_end_was_closed_is_lost_and_made_again) {
  ASSERT_TRUE(exchange(1));
  b->disconnect(to_a);
  const auto again = b->connect(a->address());
  ASSERT_TRUE(again);
  to_a = *again;
  payloads.emplace_back(1 << 20);
  a->post(to_b, push_header(payloads.back().size(), 2), payloads.back(), 2);
  ASSERT_TRUE(tests::until(*a, *b, [&] { return !at_a.lost.empty(); }));
  EXPECT_EQ(std::exchange(at_a.lost, {}), std::vector{to_b});
  EXPECT_EQ(at_b.arrivals.size(), 1U) << "UCX has dropped the second payload";

  a->disconnect(to_b);
  const auto anew = a->connect(b->address());
  ASSERT_TRUE(anew);
  to_b = *anew;
  EXPECT_TRUE(exchange(3));
  EXPECT_TRUE(at_b.lost.empty()) << "the other way was whole";
}

// UCX cuts it into pieces, and tells its sender that they were sent.
TEST_F(deaf_peers, a_bundle_that_was_dropped_is_noticed) {
  ASSERT_TRUE(exchange(1));
  b->disconnect(to_a);
  const auto again = b->connect(a->address());
  ASSERT_TRUE(again);
  std::vector<std::byte> payload(bundle_payload_bytes_max / 2);
  const std::vector frames(
      2, outgoing{.header = push_header(payload.size(), 2), .payload = payload, .token = 0});
  a->post_bundle(to_b, frames);
  EXPECT_TRUE(tests::until(*a, *b, [&] { return !at_a.lost.empty(); }));
  EXPECT_EQ(at_b.arrivals.size(), 1U);
}

// However often each side has made its connection again. UCX may lose a connection whose peer
// closes another while it is made, and must say so; it is then made again. Paired ones are lost
// in every round, so three losses in ten rounds tell the two apart.
TEST_F(deaf_peers, a_new_connection_is_never_paired_with_a_closed_one) {
  ASSERT_TRUE(exchange(1));
  std::size_t losses = 0;
  for (std::uint64_t number = 2; number < 12; ++number) {
    for (std::uint64_t times = 0; times < number % 4; ++times) {
      b->disconnect(to_a);
      to_a = b->connect(a->address()).value();
    }
    a->disconnect(to_b);
    to_b = a->connect(b->address()).value();
    while (!exchange(100 * number + losses)) {
      ASSERT_TRUE(is_lost()) << number << ": neither exchanged nor lost";
      ASSERT_LE(++losses, 3U) << number;
      connect_again();
    }
  }
  EXPECT_FALSE(is_lost());
}

// Several members of a process have connections of their own to the same peer.
TEST_F(deaf_peers, the_end_of_one_connection_leaves_the_others_of_its_process) {
  const auto second = a->connect(b->address());
  ASSERT_TRUE(second);
  ASSERT_TRUE(exchange(1));
  a->disconnect(to_b);
  payloads.emplace_back(1 << 20);
  a->post(*second, push_header(payloads.back().size(), 2), payloads.back(), 2);
  EXPECT_TRUE(tests::until(*a, *b, [&] { return at_b.arrivals.size() == 2; }));
  EXPECT_TRUE(at_a.lost.empty());
}

// The timer that asks wakes a sleeper, and stands still when all has been heard.
TEST_F(deaf_peers, questions_end_when_they_are_answered) {
  ASSERT_TRUE(exchange(1));
  for (auto* link : {a.get(), b.get()}) {
    pollfd wake{.fd = link->event_fd(), .events = POLLIN, .revents = 0};
    int woken = 0;
    const auto quiet = [&] {
      while (a->progress() + b->progress() > 0) {
      }
      return a->arm() && b->arm() && ::poll(&wake, 1, 1500) == 0;
    };
    while (!quiet() && ++woken < 1000) {
    }
    EXPECT_LT(woken, 1000);
  }
  EXPECT_TRUE(at_a.lost.empty() && at_b.lost.empty());
}

TEST(hearing, asks_by_name_until_it_is_answered) {
  hearing connection;
  EXPECT_FALSE(connection.ask()) << "nothing was sent";
  connection.use();
  const auto first = connection.ask();
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->first);
  const auto next = connection.ask();
  ASSERT_TRUE(next);
  EXPECT_FALSE(next->first);
  EXPECT_EQ(next->round, first->round);
  connection.named_answer(first->round + 1);
  EXPECT_TRUE(connection.ask()) << "an answer to something else";
  connection.named_answer(first->round);
  EXPECT_FALSE(connection.ask());
}

TEST(hearing, is_deaf_that_answers_only_what_names_no_pair) {
  hearing connection;
  connection.use();
  const auto round = connection.ask()->round;
  EXPECT_FALSE(connection.answer(round - 1));
  EXPECT_FALSE(connection.answer(round));
  EXPECT_FALSE(connection.answer(round)) << "the other may be on its way";
  EXPECT_TRUE(connection.answer(round));
  connection.named_answer(round);
  EXPECT_FALSE(connection.answer(round)) << "heard in the end";
}

TEST(hearing, takes_nothing_that_is_no_message) {
  const hearing_message sent{.kind = hearing_kind::answer, .sender = 7, .connection = 2};
  auto wire = std::bit_cast<std::array<std::byte, sizeof sent>>(sent);
  const auto read = decode_hearing(wire);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->sender, 7U);
  EXPECT_EQ(read->connection, 2U);
  EXPECT_FALSE(decode_hearing(std::span(wire).first(23)));
  wire[4] = std::byte{5};
  EXPECT_FALSE(decode_hearing(wire)) << "an unknown kind";
  wire[4] = std::byte{0};
  wire[0] = std::byte{0};
  EXPECT_FALSE(decode_hearing(wire)) << "another magic";
}

}  // namespace
}  // namespace tidegate::runtime
