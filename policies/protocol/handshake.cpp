#include "policies/protocol/handshake.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "runtime/base/assert.hpp"

namespace tidegate::policies {

namespace {

enum class role : std::uint8_t { listener, caller };

constexpr std::string_view listener_label = "tidegate control listener";
constexpr std::string_view caller_label = "tidegate control caller..";
constexpr std::string_view message_label = "tidegate control messages";
constexpr std::string_view control_label = "tidegate control plane";
constexpr std::string_view data_label = "tidegate data plane";
static_assert(listener_label.size() == caller_label.size());

std::array<std::byte, sizeof(std::uint64_t)> key_of(std::uint64_t token) noexcept {
  std::array<std::byte, sizeof token> key{};
  for (auto& byte : key) {
    byte = static_cast<std::byte>(token & 0xffU);
    token >>= 8U;
  }
  return key;
}

std::span<const std::byte> bytes_of(std::string_view text) noexcept {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::uint64_t number_from(std::uint64_t token, std::string_view label) {
  const auto derived = runtime::hmac_sha256(key_of(token), bytes_of(label));
  std::uint64_t value = 0;
  std::memcpy(&value, derived.data(), sizeof value);
  return value;
}

runtime::digest proof_of(role prover, std::uint64_t token, std::span<const std::byte> listener,
                         std::span<const std::byte> caller) {
  std::array<std::byte, listener_label.size() + 1 + 2 * nonce_bytes> message{};
  auto* at = message.data();
  const auto add = [&at](std::span<const std::byte> bytes) {
    std::memcpy(at, bytes.data(), bytes.size());
    at += bytes.size();
  };
  add(bytes_of(prover == role::listener ? listener_label : caller_label));
  *at++ = std::byte{handshake_version};
  add(listener);
  add(caller);
  return runtime::hmac_sha256(key_of(token), message);
}

template <std::size_t N>
std::span<const std::byte> nonce_in(const std::array<std::byte, N>& bytes) noexcept {
  return std::span<const std::byte>(bytes).subspan(1, nonce_bytes);
}

}  // namespace

std::string_view to_string(handshake_state state) noexcept {
  switch (state) {
    case handshake_state::waiting:
      return "it has not answered";
    case handshake_state::proven:
      return "it is proven";
    case handshake_state::other_version:
      return "it speaks another version of the handshake, or is no process of Tidegate";
    case handshake_state::wrong_proof:
      return "it has no proof of this run's token";
  }
  return "unknown";
}

listener_handshake::listener_handshake(std::uint64_t token, const nonce& drawn) noexcept
    : token_(token), own_(drawn) {}

std::array<std::byte, challenge_bytes> listener_handshake::challenge() const noexcept {
  std::array<std::byte, challenge_bytes> bytes{};
  bytes[0] = std::byte{handshake_version};
  std::copy(own_.begin(), own_.end(), bytes.begin() + 1);
  return bytes;
}

std::size_t listener_handshake::wants() const noexcept {
  return response_bytes - taken_;
}

handshake_state listener_handshake::take(std::span<const std::byte> bytes) noexcept {
  TIDEGATE_ASSERT(bytes.size() <= wants(), "no more bytes than were asked for");
  std::copy(bytes.begin(), bytes.end(),
            response_.begin() + static_cast<std::ptrdiff_t>(taken_));
  taken_ += bytes.size();
  if (taken_ > 0 && response_[0] != std::byte{handshake_version})
    return handshake_state::other_version;
  if (taken_ < response_bytes) return handshake_state::waiting;
  const auto given = std::span<const std::byte>(response_).subspan(1 + nonce_bytes);
  const auto right = proof_of(role::caller, token_, own_, nonce_in(response_));
  return runtime::is_same_secret(given, right) ? handshake_state::proven
                                               : handshake_state::wrong_proof;
}

runtime::digest listener_handshake::confirmation() const noexcept {
  TIDEGATE_ASSERT(taken_ == response_bytes, "the caller is proven");
  return proof_of(role::listener, token_, own_, nonce_in(response_));
}

caller_handshake::caller_handshake(std::uint64_t token, const nonce& drawn) noexcept
    : token_(token), own_(drawn) {}

std::size_t caller_handshake::wants() const noexcept {
  if (!responded_) return challenge_bytes - taken_;
  return confirmation_bytes - taken_;
}

handshake_state caller_handshake::take(std::span<const std::byte> bytes) noexcept {
  TIDEGATE_ASSERT(bytes.size() <= wants(), "no more bytes than were asked for");
  auto* into = responded_ ? confirmation_.data() : challenge_.data();
  std::copy(bytes.begin(), bytes.end(), into + taken_);
  taken_ += bytes.size();
  if (!responded_) {
    if (taken_ > 0 && challenge_[0] != std::byte{handshake_version})
      return handshake_state::other_version;
    if (taken_ < challenge_bytes) return handshake_state::waiting;
    response_[0] = std::byte{handshake_version};
    std::copy(own_.begin(), own_.end(), response_.begin() + 1);
    const auto proof = proof_of(role::caller, token_, nonce_in(challenge_), own_);
    std::copy(proof.begin(), proof.end(), response_.begin() + 1 + nonce_bytes);
    return handshake_state::waiting;
  }
  if (taken_ < confirmation_bytes) return handshake_state::waiting;
  const auto right = proof_of(role::listener, token_, nonce_in(challenge_), own_);
  return runtime::is_same_secret(confirmation_, right) ? handshake_state::proven
                                                       : handshake_state::wrong_proof;
}

std::span<const std::byte> caller_handshake::response() const noexcept {
  if (responded_ || taken_ < challenge_bytes) return {};
  return response_;
}

void caller_handshake::responded() noexcept {
  TIDEGATE_ASSERT(!response().empty(), "there was a response");
  responded_ = true;
  taken_ = 0;
}

runtime::digest control_plane_key(std::uint64_t token) {
  return runtime::hmac_sha256(key_of(token), bytes_of(control_label));
}

runtime::digest data_plane_key(std::uint64_t token) {
  return runtime::hmac_sha256(key_of(token), bytes_of(data_label));
}

std::uint64_t port_token(std::uint64_t token, std::string_view service, std::uint16_t port) {
  return number_from(
      token, "tidegate control port " + std::string(service) + " " + std::to_string(port));
}

std::uint64_t message_token(std::uint64_t token) {
  return number_from(token, message_label);
}

}  // namespace tidegate::policies
