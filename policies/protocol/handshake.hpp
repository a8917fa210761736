// How both ends of a control connection prove that they know the run's token before either
// reads a byte of anything else. The token never crosses the wire, and what was recorded once
// proves nothing later, as each end has drawn a nonce for this connection:
//
//   listener to caller   challenge: version u8 | nonce of the listener, 32 bytes
//   caller to listener   response: version u8 | nonce of the caller, 32 | proof, 32
//   listener to caller   confirmation: proof, 32
//
// A proof is an HMAC-SHA256 under the token of the end's role, the version and both nonces. The
// listener proves nothing to a caller that has not. An end that is refused is told nothing.
//
// State machines; the shell feeds them bytes and sends the bytes that they return. Value types.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/base/secret.hpp"

namespace tidegate::policies {

inline constexpr std::uint8_t handshake_version = 1;
inline constexpr std::size_t nonce_bytes = 32;
inline constexpr std::size_t challenge_bytes = 1 + nonce_bytes;
inline constexpr std::size_t response_bytes = 1 + nonce_bytes + runtime::digest_bytes;
inline constexpr std::size_t confirmation_bytes = runtime::digest_bytes;

using nonce = std::array<std::byte, nonce_bytes>;

enum class handshake_state : std::uint8_t {
  waiting,        // for bytes of the other end
  proven,         // the other end knows the token
  other_version,  // refused: it speaks another version, or something else altogether
  wrong_proof     // refused: it knows another token, or none
};

// Returns "it has no proof of this run's token" and the like, for logs and messages; valid for
// ever.
std::string_view to_string(handshake_state state) noexcept;

// The end that listens: it sends challenge(), takes the response, and sends confirmation().
// `drawn` is a nonce for this connection alone.
class listener_handshake {
 public:
  listener_handshake() = default;
  listener_handshake(std::uint64_t token, const nonce& drawn) noexcept;

  // Returns the bytes to send first, as soon as the connection is there.
  std::array<std::byte, challenge_bytes> challenge() const noexcept;
  // Returns how many bytes may be read from the connection now; bytes after those are not the
  // handshake's.
  std::size_t wants() const noexcept;
  // Takes up to wants() bytes (asserted) that have arrived. Returns what is known of the
  // caller.
  handshake_state take(std::span<const std::byte> bytes) noexcept;
  // Returns the bytes to send after take() has returned `proven`, and not before.
  runtime::digest confirmation() const noexcept;

 private:
  std::uint64_t token_ = 0;
  nonce own_{};
  std::array<std::byte, response_bytes> response_{};
  std::size_t taken_ = 0;
};

// The end that calls: it takes the challenge, sends response(), and takes the confirmation.
class caller_handshake {
 public:
  caller_handshake(std::uint64_t token, const nonce& drawn) noexcept;

  // Returns how many bytes may be read from the connection now.
  std::size_t wants() const noexcept;
  // Takes up to wants() bytes (asserted) that have arrived. Returns `waiting` until the
  // confirmation is whole, or the listener is refused.
  handshake_state take(std::span<const std::byte> bytes) noexcept;
  // Returns the bytes to send once the challenge is whole; empty before that, and after
  // responded(). Valid as long as this object.
  std::span<const std::byte> response() const noexcept;
  // Takes in that the response has been sent; the confirmation is wanted next.
  void responded() noexcept;

 private:
  std::uint64_t token_;
  nonce own_;
  std::array<std::byte, challenge_bytes> challenge_{};
  std::array<std::byte, response_bytes> response_{};
  std::array<std::byte, confirmation_bytes> confirmation_{};
  std::size_t taken_ = 0;
  bool responded_ = false;
};

// Returns the token that the ends of a connection to this port prove, in place of the run's. So
// nobody who has taken a port over can bring whoever comes there to another port of the run,
// and have both ends prove themselves to each other through it. `service`: what listens there,
// "coordinator", say.
inline constexpr const char* agent_service = "agent";  // of a host, to those of others
std::uint64_t port_token(std::uint64_t token, std::string_view service, std::uint16_t port);

// Returns the number that messages of the control plane carry to say which run they belong to.
// It is derived from the token, so that whoever reads it on the wire cannot prove the token.
std::uint64_t message_token(std::uint64_t token);

// Return the keys of what is said between processes: under TLS on the control plane, and over
// streams on the data plane. Each is derived from the token by a name of its own, so that none
// of them, and no number that messages carry, leads to another.
runtime::digest control_plane_key(std::uint64_t token);
runtime::digest data_plane_key(std::uint64_t token);

}  // namespace tidegate::policies
