// Strangers at the control port: how many, how long, how often, and who is let in.
#include "policies/protocol/connection_gate.hpp"

#include <vector>

#include <gmock/gmock.h>

#include "policies/model/millisecond.hpp"

namespace tidegate::policies {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using slot = connection_gate::slot;

constexpr std::uint64_t token = 0xfeed'beef'1234'5678;
constexpr gate_limits small{.strangers_max = 3,
                            .handshake_ns = 2'000 * millisecond,
                            .crowded_ns = 100 * millisecond,
                            .accepted_per_second = 10,
                            .accepted_at_once = 5,
                            .report_ns = 1'000 * millisecond};

nonce nonce_of(slot seed) {
  nonce drawn{};
  drawn[0] = static_cast<std::byte>(seed + 1);
  return drawn;
}

handshake_state answer(connection_gate& gate, slot from, std::uint64_t callers_token,
                       runtime::digest& confirmation) {
  caller_handshake caller(callers_token, nonce_of(99));
  caller.take(gate.handshake(from).challenge());
  const auto response = caller.response();
  const auto state = gate.received(from, response, confirmation);
  if (state == handshake_state::proven) {
    caller.responded();
    EXPECT_EQ(caller.take(confirmation), handshake_state::proven);
  }
  return state;
}

handshake_state answer(connection_gate& gate, slot from, std::uint64_t callers_token) {
  runtime::digest confirmation{};
  return answer(gate, from, callers_token, confirmation);
}

TEST(connection_gate, admits_who_proves_the_token) {
  connection_gate gate(token);
  ASSERT_TRUE(gate.may_accept(0));
  const auto honest = gate.accepted(0, nonce_of(0));
  EXPECT_EQ(answer(gate, honest, token), handshake_state::proven);
  EXPECT_EQ(gate.strangers(), 0U);
  EXPECT_EQ(gate.counters().admitted, 1U);
  EXPECT_EQ(gate.counters().refused(), 0U);
  EXPECT_EQ(gate.next_deadline(), std::nullopt) << "nothing is left to wait for";
}

TEST(connection_gate, counts_why_it_refuses) {
  connection_gate gate(token);
  runtime::digest none{};
  EXPECT_EQ(answer(gate, gate.accepted(0, nonce_of(0)), token + 1),
            handshake_state::wrong_proof);
  const auto other = gate.accepted(0, nonce_of(1));
  const std::byte zero{0};
  EXPECT_EQ(gate.received(other, {&zero, 1}, none), handshake_state::other_version);
  gate.departed(gate.accepted(0, nonce_of(2)));
  const auto& counted = gate.counters();
  EXPECT_EQ(counted.refused_proof, 1U);
  EXPECT_EQ(counted.refused_version, 1U);
  EXPECT_EQ(counted.departed, 1U);
  EXPECT_EQ(counted.refused(), 3U);
  EXPECT_EQ(gate.strangers(), 0U);
}

TEST(connection_gate, gives_each_its_time_however_much_it_trickles) {
  connection_gate gate(token);
  const auto slow = gate.accepted(0, nonce_of(0));
  const std::byte version{handshake_version};
  runtime::digest none{};
  EXPECT_EQ(gate.received(slow, {&version, 1}, none), handshake_state::waiting);
  EXPECT_EQ(gate.next_deadline(), 2'000 * millisecond);
  std::vector<slot> late;
  gate.expire(2'000 * millisecond - 1, late);
  EXPECT_THAT(late, IsEmpty());
  gate.expire(2'000 * millisecond, late);
  EXPECT_THAT(late, ElementsAre(slow));
  EXPECT_EQ(gate.counters().refused_late, 1U);
}

TEST(connection_gate, makes_room_of_the_one_that_has_waited_longest) {
  connection_gate gate(token, small);
  std::vector<slot> silent;
  for (const std::int64_t now : {0, 10, 20}) {
    ASSERT_TRUE(gate.may_accept(now * millisecond));
    EXPECT_EQ(gate.make_room(), std::nullopt);
    silent.push_back(gate.accepted(now * millisecond, nonce_of(0)));
  }
  EXPECT_FALSE(gate.may_accept(30 * millisecond)) << "the first has a while";
  EXPECT_EQ(gate.next_deadline(), 100 * millisecond);
  ASSERT_TRUE(gate.may_accept(100 * millisecond));
  EXPECT_EQ(gate.make_room(), silent[0]);
  const auto honest = gate.accepted(100 * millisecond, nonce_of(1));
  EXPECT_EQ(answer(gate, honest, token), handshake_state::proven);
  EXPECT_TRUE(gate.may_accept(101 * millisecond)) << "and left room";
}

TEST(connection_gate, accepts_so_many_at_once_and_so_many_a_second) {
  connection_gate gate(token, small);
  const auto come = [&](std::int64_t now) {
    if (!gate.may_accept(now)) return false;
    gate.departed(gate.accepted(now, nonce_of(0)));
    return true;
  };
  int at_once = 0;
  while (come(0)) ++at_once;
  EXPECT_EQ(at_once, 5);
  EXPECT_EQ(gate.next_deadline(), 0) << "to report those, and then:";
  gate.report(0);
  EXPECT_EQ(gate.next_deadline(), 100 * millisecond);
  int in_ten_seconds = 0;
  for (std::int64_t now = millisecond; now <= 10'000 * millisecond; now += millisecond)
    if (come(now)) ++in_ten_seconds;
  EXPECT_EQ(in_ten_seconds, 100);
}

TEST(connection_gate, pauses_when_the_system_has_no_descriptor) {
  connection_gate gate(token, small);
  ASSERT_TRUE(gate.may_accept(0));
  gate.accept_failed(0);
  EXPECT_FALSE(gate.may_accept(1));
  EXPECT_EQ(gate.next_deadline(), 100 * millisecond);
  EXPECT_TRUE(gate.may_accept(100 * millisecond));
}

TEST(connection_gate, reports_what_is_new_and_not_too_often) {
  connection_gate gate(token, small);
  EXPECT_EQ(gate.report(0), std::nullopt) << "nothing to report";
  gate.departed(gate.accepted(0, nonce_of(0)));
  EXPECT_EQ(gate.report(5 * millisecond), 1U);
  EXPECT_EQ(gate.report(6 * millisecond), std::nullopt) << "no news";
  gate.departed(gate.accepted(0, nonce_of(0)));
  EXPECT_EQ(gate.report(1'004 * millisecond), std::nullopt);
  EXPECT_EQ(gate.next_deadline(), 1'005 * millisecond);
  EXPECT_EQ(gate.report(1'005 * millisecond), 2U);
}

}  // namespace
}  // namespace tidegate::policies
