#include "runtime/streams/stream_handshake.hpp"

#include <algorithm>
#include <cstring>

#include "runtime/base/assert.hpp"

namespace tidegate::runtime {

namespace {

constexpr std::string_view listener_label = "tidegate stream listener";
constexpr std::string_view caller_label = "tidegate stream caller..";
constexpr std::string_view records_label = "tidegate stream records.";
static_assert(listener_label.size() == caller_label.size() &&
              records_label.size() == caller_label.size());

// In a response.
constexpr std::size_t sealed_at = 1;
constexpr std::size_t connection_at = 4;
constexpr std::size_t caller_at = 8;
constexpr std::size_t listener_at = 16;
constexpr std::size_t nonce_at = 24;
constexpr std::size_t share_at = nonce_at + stream_nonce_bytes;
constexpr std::size_t proof_at = share_at + key_share_bytes;
static_assert(proof_at + digest_bytes == stream_response_bytes);

using challenge_wire = std::array<std::byte, stream_challenge_bytes>;
using response_wire = std::array<std::byte, stream_response_bytes>;

template <class Number>
Number number_at(const response_wire& wire, std::size_t at) noexcept {
  Number value{};
  std::memcpy(&value, wire.data() + at, sizeof value);
  return value;
}

template <class Number>
void set_number(response_wire& wire, std::size_t at, Number value) noexcept {
  std::memcpy(wire.data() + at, &value, sizeof value);
}

// Of a label and all that both ends have said, but for the proof.
digest keyed(const digest& key, std::string_view label, const challenge_wire& challenge,
             const response_wire& response) {
  std::array<std::byte, caller_label.size() + stream_challenge_bytes + proof_at> message{};
  auto* at = message.data();
  std::memcpy(at, label.data(), label.size());
  at += label.size();
  at = std::copy(challenge.begin(), challenge.end(), at);
  std::copy(response.begin(), response.begin() + proof_at, at);
  return hmac_sha256(key, message);
}

digest key_of_records(const digest& key, const digest& agreed, const challenge_wire& challenge,
                      const response_wire& response) {
  return keyed(hmac_sha256(key, agreed), records_label, challenge, response);
}

}  // namespace

std::string_view to_string(stream_proof proof) noexcept {
  switch (proof) {
    case stream_proof::waiting:
      return "it has not answered";
    case stream_proof::proven:
      return "it is proven";
    case stream_proof::other_version:
      return "it speaks another version of the handshake, or is no process of Tidegate";
    case stream_proof::other_sealing:
      return "one end encrypts and the other does not (security.encrypt)";
    case stream_proof::other_link:
      return "it looks for a process that was here before";
    case stream_proof::wrong_proof:
      return "it has no proof of this run's key";
  }
  return "unknown";
}

stream_listener_handshake::stream_listener_handshake(const stream_end& own,
                                                     const stream_draw& drawn) noexcept
    : own_(own) {
  challenge_[0] = std::byte{stream_version};
  const auto at = std::copy(drawn.nonce.begin(), drawn.nonce.end(), challenge_.begin() + 1);
  std::copy(drawn.share.begin(), drawn.share.end(), at);
}

stream_proof stream_listener_handshake::take(std::span<const std::byte> bytes) noexcept {
  TIDEGATE_ASSERT(bytes.size() <= wants(), "no more bytes than were asked for");
  std::memcpy(response_.data() + taken_, bytes.data(), bytes.size());
  taken_ += bytes.size();
  if (taken_ > 0 && response_[0] != std::byte{stream_version})
    return stream_proof::other_version;
  if (taken_ < stream_response_bytes) return stream_proof::waiting;
  const auto right = keyed(own_.key, caller_label, challenge_, response_);
  if (!is_same_secret(std::span(response_).subspan<proof_at>(), right))
    return stream_proof::wrong_proof;
  if ((response_[sealed_at] != std::byte{0}) != own_.sealed) return stream_proof::other_sealing;
  if (number_at<std::uint64_t>(response_, listener_at) != own_.link)
    return stream_proof::other_link;
  return stream_proof::proven;
}

digest stream_listener_handshake::confirmation() const noexcept {
  TIDEGATE_ASSERT(wants() == 0, "the caller is proven");
  return keyed(own_.key, listener_label, challenge_, response_);
}

std::uint64_t stream_listener_handshake::caller_link() const noexcept {
  return number_at<std::uint64_t>(response_, caller_at);
}

std::uint32_t stream_listener_handshake::caller_connection() const noexcept {
  return number_at<std::uint32_t>(response_, connection_at);
}

public_share stream_listener_handshake::caller_share() const noexcept {
  public_share share{};
  std::memcpy(share.data(), response_.data() + share_at, share.size());
  return share;
}

digest stream_listener_handshake::record_key(const digest& agreed) const noexcept {
  return key_of_records(own_.key, agreed, challenge_, response_);
}

std::size_t stream_caller_handshake::wants() const noexcept {
  return (responded_ ? digest_bytes : stream_challenge_bytes) - taken_;
}

stream_proof stream_caller_handshake::take(std::span<const std::byte> bytes) noexcept {
  TIDEGATE_ASSERT(bytes.size() <= wants(), "no more bytes than were asked for");
  auto* into = responded_ ? confirmation_.data() : challenge_.data();
  std::memcpy(into + taken_, bytes.data(), bytes.size());
  taken_ += bytes.size();
  if (!responded_)
    return taken_ > 0 && challenge_[0] != std::byte{stream_version}
               ? stream_proof::other_version
               : stream_proof::waiting;
  if (taken_ < digest_bytes) return stream_proof::waiting;
  const auto right = keyed(own_.key, listener_label, challenge_, response_);
  return is_same_secret(confirmation_, right) ? stream_proof::proven
                                              : stream_proof::wrong_proof;
}

public_share stream_caller_handshake::listener_share() const noexcept {
  public_share share{};
  std::memcpy(share.data(), challenge_.data() + 1 + stream_nonce_bytes, share.size());
  return share;
}

const response_wire& stream_caller_handshake::respond(const stream_draw& drawn) noexcept {
  TIDEGATE_ASSERT(is_challenged(), "there is a challenge");
  response_[0] = std::byte{stream_version};
  response_[sealed_at] = std::byte{own_.sealed};
  set_number(response_, connection_at, connection_);
  set_number(response_, caller_at, own_.link);
  set_number(response_, listener_at, listener_);
  std::memcpy(response_.data() + nonce_at, drawn.nonce.data(), drawn.nonce.size());
  std::memcpy(response_.data() + share_at, drawn.share.data(), drawn.share.size());
  const auto proof = keyed(own_.key, caller_label, challenge_, response_);
  std::memcpy(response_.data() + proof_at, proof.data(), proof.size());
  responded_ = true;
  taken_ = 0;
  return response_;
}

digest stream_caller_handshake::record_key(const digest& agreed) const noexcept {
  TIDEGATE_ASSERT(responded_, "after the response");
  return key_of_records(own_.key, agreed, challenge_, response_);
}

}  // namespace tidegate::runtime
