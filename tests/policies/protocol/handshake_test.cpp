// Both ends of a control connection prove the run's token, and nothing else passes for it.
#include "policies/protocol/handshake.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace tidegate::policies {
namespace {

constexpr std::uint64_t token = 0x0123'4567'89ab'cdef;

using bytes = std::vector<std::byte>;

nonce nonce_of(std::uint8_t seed) {
  nonce drawn{};
  for (std::size_t i = 0; i < drawn.size(); ++i)
    drawn[i] = static_cast<std::byte>(seed + 7 * i);
  return drawn;
}

template <class Range>
bytes copy_of(const Range& range) {
  return {range.begin(), range.end()};
}

// What a caller answers to a challenge.
bytes response_to(std::uint64_t callers_token, const bytes& challenge, std::uint8_t seed = 2) {
  caller_handshake caller(callers_token, nonce_of(seed));
  EXPECT_EQ(caller.take(challenge), handshake_state::waiting);
  return copy_of(caller.response());
}

// What a listener says to bytes that come as one piece, and to the same bytes one by one.
handshake_state verdict_on(const bytes& response, std::uint64_t listeners_token = token,
                           std::uint8_t seed = 1) {
  listener_handshake whole(listeners_token, nonce_of(seed));
  const auto state = whole.take(response);
  listener_handshake pieces(listeners_token, nonce_of(seed));
  auto last = handshake_state::waiting;
  for (const auto byte : response) {
    last = pieces.take({&byte, 1});
    if (last != handshake_state::waiting) break;
  }
  EXPECT_EQ(state, last) << "however it is cut";
  return state;
}

bytes challenge_of(std::uint64_t listeners_token, std::uint8_t seed = 1) {
  return copy_of(listener_handshake(listeners_token, nonce_of(seed)).challenge());
}

TEST(handshake, proves_both_ends_to_each_other) {
  listener_handshake listener(token, nonce_of(1));
  caller_handshake caller(token, nonce_of(2));
  EXPECT_EQ(caller.wants(), challenge_bytes);
  EXPECT_EQ(caller.take(listener.challenge()), handshake_state::waiting);
  EXPECT_EQ(listener.wants(), response_bytes);
  EXPECT_EQ(listener.take(caller.response()), handshake_state::proven);
  EXPECT_EQ(listener.wants(), 0U) << "what comes next is not for the handshake";
  caller.responded();
  EXPECT_EQ(caller.wants(), confirmation_bytes);
  EXPECT_EQ(caller.take(listener.confirmation()), handshake_state::proven);
}

TEST(handshake, refuses_a_caller_with_another_token) {
  const auto challenge = challenge_of(token);
  EXPECT_EQ(verdict_on(response_to(token, challenge)), handshake_state::proven);
  for (const auto wrong :
       {token + 1, ~token, std::uint64_t{0}, token ^ (std::uint64_t{1} << 63U)})
    EXPECT_EQ(verdict_on(response_to(wrong, challenge)), handshake_state::wrong_proof);
}

TEST(handshake, refuses_a_listener_with_another_token) {
  listener_handshake listener(token + 1, nonce_of(1));
  caller_handshake caller(token, nonce_of(2));
  caller.take(listener.challenge());
  EXPECT_EQ(listener.take(caller.response()), handshake_state::wrong_proof);
  caller.responded();
  EXPECT_EQ(caller.take(listener.confirmation()), handshake_state::wrong_proof);
}

TEST(handshake, refuses_a_recorded_response) {
  const auto recorded = response_to(token, challenge_of(token, 1));
  EXPECT_EQ(verdict_on(recorded, token, 1), handshake_state::proven);
  EXPECT_EQ(verdict_on(recorded, token, 9), handshake_state::wrong_proof)
      << "of a connection that drew another nonce";
}

TEST(handshake, refuses_a_recorded_confirmation) {
  listener_handshake listener(token, nonce_of(1));
  listener.take(response_to(token, challenge_of(token, 1), 2));
  caller_handshake later(token, nonce_of(3));
  later.take(challenge_of(token, 1));
  later.responded();
  EXPECT_EQ(later.take(listener.confirmation()), handshake_state::wrong_proof);
}

// A stranger between two honest ends of other connections gets no use of their answers.
TEST(handshake, refuses_its_own_words_turned_round) {
  const auto challenge = challenge_of(token);
  bytes echoed = challenge;
  echoed.insert(echoed.end(), challenge.begin() + 1, challenge.end());
  ASSERT_EQ(echoed.size(), response_bytes);
  EXPECT_EQ(verdict_on(echoed), handshake_state::wrong_proof);
  // With the caller's own nonce as the challenge, its proof is still none of a listener.
  caller_handshake caller(token, nonce_of(1));
  caller.take(challenge_of(token, 1));
  const auto response = copy_of(caller.response());
  caller.responded();
  EXPECT_EQ(caller.take(std::span(response).last(confirmation_bytes)),
            handshake_state::wrong_proof);
}

TEST(handshake, waits_for_what_is_missing) {
  const auto response = response_to(token, challenge_of(token));
  for (std::size_t cut = 0; cut < response.size(); ++cut) {
    listener_handshake listener(token, nonce_of(1));
    const bytes part(response.begin(), response.begin() + static_cast<std::ptrdiff_t>(cut));
    EXPECT_EQ(listener.take(part), handshake_state::waiting) << cut;
    EXPECT_EQ(listener.wants(), response_bytes - cut);
  }
}

TEST(handshake, refuses_every_response_with_one_bit_changed) {
  const auto right = response_to(token, challenge_of(token));
  for (std::size_t bit = 0; bit < 8 * right.size(); ++bit) {
    auto changed = right;
    changed[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    EXPECT_NE(verdict_on(changed), handshake_state::proven) << "bit " << bit;
  }
}

TEST(handshake, refuses_another_version_at_the_first_byte) {
  for (unsigned version = 0; version < 256; ++version) {
    if (version == handshake_version) continue;
    listener_handshake listener(token, nonce_of(1));
    const auto first = static_cast<std::byte>(version);
    EXPECT_EQ(listener.take({&first, 1}), handshake_state::other_version);
    caller_handshake caller(token, nonce_of(2));
    EXPECT_EQ(caller.take({&first, 1}), handshake_state::other_version);
  }
}

TEST(handshake, refuses_random_bytes) {
  std::mt19937_64 draw(4711);
  for (int i = 0; i < 10'000; ++i) {
    bytes random(response_bytes);
    for (auto& byte : random) byte = static_cast<std::byte>(draw());
    if (i % 2 == 0) random[0] = std::byte{handshake_version};
    ASSERT_NE(verdict_on(random), handshake_state::proven);
  }
}

TEST(handshake, never_says_the_token) {
  listener_handshake listener(token, nonce_of(1));
  const auto response = response_to(token, copy_of(listener.challenge()));
  listener.take(response);
  auto said = copy_of(listener.challenge());
  const auto confirmation = listener.confirmation();
  said.insert(said.end(), response.begin(), response.end());
  said.insert(said.end(), confirmation.begin(), confirmation.end());
  for (const bool reversed : {false, true}) {
    bytes secret;
    for (unsigned i = 0; i < 8; ++i) secret.push_back(static_cast<std::byte>(token >> 8 * i));
    if (reversed) std::reverse(secret.begin(), secret.end());
    EXPECT_EQ(std::search(said.begin(), said.end(), secret.begin(), secret.end()), said.end());
  }
  EXPECT_NE(message_token(token), token);
  EXPECT_EQ(message_token(token), message_token(token));
  EXPECT_NE(message_token(token), message_token(token + 1));
}

}  // namespace
}  // namespace tidegate::policies
