#include "runtime/streams/stream_handshake.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace tidegate::runtime {
namespace {

constexpr std::uint64_t calling_link = 7;
constexpr std::uint64_t called_link = 11;

stream_end end_of(std::uint64_t link, int key = 1, bool sealed = false) {
  stream_end end{.link = link, .sealed = sealed};
  end.key[5] = static_cast<std::byte>(key);
  return end;
}

stream_draw draw(int number) {
  stream_draw drawn;
  drawn.nonce[3] = static_cast<std::byte>(number);
  drawn.share[3] = static_cast<std::byte>(number);
  return drawn;
}

struct ends {
  stream_listener_handshake listener{end_of(called_link), draw(1)};
  stream_caller_handshake caller{end_of(calling_link), called_link, 42};

  stream_proof meet() {
    EXPECT_EQ(caller.take(listener.challenge()), stream_proof::waiting);
    EXPECT_TRUE(caller.is_challenged());
    return listener.take(caller.respond(draw(2)));
  }
};

TEST(stream_handshake, both_ends_prove_and_agree) {
  ends both;
  ASSERT_EQ(both.meet(), stream_proof::proven);
  EXPECT_EQ(both.listener.caller_link(), calling_link);
  EXPECT_EQ(both.listener.caller_connection(), 42U);
  EXPECT_EQ(both.listener.caller_share(), draw(2).share);
  EXPECT_EQ(both.caller.listener_share(), draw(1).share);
  EXPECT_EQ(both.caller.take(both.listener.confirmation()), stream_proof::proven);
  const digest agreed{std::byte{9}};
  EXPECT_EQ(both.caller.record_key(agreed), both.listener.record_key(agreed));
  EXPECT_NE(both.caller.record_key(agreed), both.caller.record_key(digest{}));
}

TEST(stream_handshake, takes_its_bytes_as_they_come) {
  ends both;
  for (const auto byte : both.listener.challenge()) {
    EXPECT_GT(both.caller.wants(), 0U);
    EXPECT_EQ(both.caller.take({&byte, 1}), stream_proof::waiting);
  }
  const auto response = both.caller.respond(draw(2));
  for (std::size_t i = 0; i < response.size(); ++i)
    EXPECT_EQ(both.listener.take({&response[i], 1}),
              i + 1 < response.size() ? stream_proof::waiting : stream_proof::proven);
  EXPECT_EQ(both.listener.wants(), 0U);
}

TEST(stream_handshake, refuses_who_does_not_know_the_key) {
  ends both;
  both.caller = {end_of(calling_link, 2), called_link, 42};
  EXPECT_EQ(both.meet(), stream_proof::wrong_proof);
  ends others;
  others.listener = {end_of(called_link, 2), draw(1)};
  EXPECT_EQ(others.meet(), stream_proof::wrong_proof);
  EXPECT_EQ(others.caller.take(digest{}), stream_proof::wrong_proof) << "a listener, likewise";
}

TEST(stream_handshake, refuses_any_bit_that_was_changed_on_the_way) {
  for (std::size_t bit = 0; bit < 8 * stream_challenge_bytes; ++bit) {
    ends both;
    auto challenge = both.listener.challenge();
    challenge[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    if (both.caller.take(challenge) != stream_proof::waiting) continue;
    EXPECT_NE(both.listener.take(both.caller.respond(draw(2))), stream_proof::proven) << bit;
  }
  for (std::size_t bit = 0; bit < 8 * stream_response_bytes; ++bit) {
    ends both;
    both.caller.take(both.listener.challenge());
    auto response = both.caller.respond(draw(2));
    response[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    EXPECT_NE(both.listener.take(response), stream_proof::proven) << bit;
  }
}

TEST(stream_handshake, refuses_what_was_recorded_and_what_is_reflected) {
  ends first;
  ASSERT_EQ(first.meet(), stream_proof::proven);
  stream_caller_handshake caller{end_of(calling_link), called_link, 42};
  caller.take(first.listener.challenge());
  const auto recorded = caller.respond(draw(2));
  stream_listener_handshake next{end_of(called_link), draw(3)};
  EXPECT_EQ(next.take(recorded), stream_proof::wrong_proof);
  // What proves a caller proves no listener.
  digest proof{};
  std::copy(recorded.end() - digest_bytes, recorded.end(), proof.begin());
  EXPECT_EQ(caller.take(proof), stream_proof::wrong_proof);
}

TEST(stream_handshake, refuses_who_looks_for_another_link_or_seals_otherwise) {
  ends both;
  both.caller = {end_of(calling_link), called_link + 1, 42};
  EXPECT_EQ(both.meet(), stream_proof::other_link);
  both = {};
  both.caller = {end_of(calling_link, 1, true), called_link, 42};
  EXPECT_EQ(both.meet(), stream_proof::other_sealing);
  both = {};
  both.listener = {end_of(called_link, 1, true), draw(1)};
  EXPECT_EQ(both.meet(), stream_proof::other_sealing);
}

TEST(stream_handshake, refuses_another_version_at_its_first_byte) {
  ends both;
  const std::byte other{stream_version + 1};
  EXPECT_EQ(both.caller.take({&other, 1}), stream_proof::other_version);
  EXPECT_EQ(both.listener.take({&other, 1}), stream_proof::other_version);
}

}  // namespace
}  // namespace tidegate::runtime
