// How both ends of a stream prove that they know the run's key before either takes a frame from
// the other. The key never crosses the wire, and what was recorded once proves nothing later,
// as each end has drawn a nonce for this connection:
//
//   listener to caller   challenge: version u8 | nonce, 32 bytes | share, 32
//   caller to listener   response: version u8 | sealed u8 | 0 u16 | connection u32 |
//                          caller's link u64 | listener's link u64 | nonce, 32 | share, 32 |
//                          proof, 32
//   listener to caller   confirmation: proof, 32
//
// A proof is an HMAC-SHA256 under the run's key of the end's role and all that was said before.
// The listener proves nothing to a caller that has not. An end that is refused is told nothing.
// `sealed`: what follows are sealed records (record_cipher.hpp), under a key that follows from
// the run's, both shares (key_share.hpp) and all that was said; else both shares are 0. Numbers
// are little endian.
//
// State machines; the connections feed them bytes and send the bytes that they return. Value
// types.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/base/secret.hpp"
#include "runtime/streams/key_share.hpp"

namespace tidegate::runtime {

inline constexpr std::uint8_t stream_version = 1;
inline constexpr std::size_t stream_nonce_bytes = 32;
inline constexpr std::size_t stream_challenge_bytes = 1 + stream_nonce_bytes + key_share_bytes;
inline constexpr std::size_t stream_response_bytes =
    24 + stream_nonce_bytes + key_share_bytes + digest_bytes;

using stream_nonce = std::array<std::byte, stream_nonce_bytes>;

enum class stream_proof : std::uint8_t {
  waiting,        // for bytes of the other end
  proven,         // the other end knows the key
  other_version,  // refused: it speaks another version, or something else altogether
  other_sealing,  // refused: one end seals, the other does not
  other_link,     // refused: it looks for a link that was here before
  wrong_proof     // refused: it knows another key, or none
};

// Returns a phrase for logs and messages; valid for ever.
std::string_view to_string(stream_proof proof) noexcept;

// What an end brings along, the same for all connections of a link.
struct stream_end {
  digest key{};  // of the run
  std::uint64_t link = 0;
  bool sealed = false;
};

// What is drawn for one connection. The share is 0 if nothing is sealed.
struct stream_draw {
  stream_nonce nonce{};
  public_share share{};
};

// The end that listens: it sends challenge(), takes the response, and sends confirmation().
class stream_listener_handshake {
 public:
  stream_listener_handshake() = default;
  stream_listener_handshake(const stream_end& own, const stream_draw& drawn) noexcept;

  // Returns the bytes to send first.
  const std::array<std::byte, stream_challenge_bytes>& challenge() const noexcept {
    return challenge_;
  }
  // Returns how many bytes may be read from the connection now; those after them are not the
  // handshake's.
  std::size_t wants() const noexcept { return stream_response_bytes - taken_; }
  // Takes up to wants() bytes (asserted). Returns what is known of the caller.
  stream_proof take(std::span<const std::byte> bytes) noexcept;
  // The rest are for after take() has returned `proven`. Returns the bytes to send then.
  digest confirmation() const noexcept;
  std::uint64_t caller_link() const noexcept;
  std::uint32_t caller_connection() const noexcept;
  public_share caller_share() const noexcept;
  // Returns the key of the records; `agreed`: of both shares.
  digest record_key(const digest& agreed) const noexcept;

 private:
  stream_end own_;
  std::array<std::byte, stream_challenge_bytes> challenge_{};
  std::array<std::byte, stream_response_bytes> response_{};
  std::size_t taken_ = 0;
};

// The end that calls: it takes the challenge, sends response(), and takes the confirmation.
class stream_caller_handshake {
 public:
  // `listener`: the number of the link that is called; `connection`: the caller's own.
  stream_caller_handshake(const stream_end& own, std::uint64_t listener,
                          std::uint32_t connection) noexcept
      : own_(own), listener_(listener), connection_(connection) {}

  std::size_t wants() const noexcept;
  // Takes up to wants() bytes (asserted). Returns `waiting` until the confirmation is whole, or
  // the listener is refused.
  stream_proof take(std::span<const std::byte> bytes) noexcept;
  // Returns true once the challenge is whole, until the response is made.
  bool is_challenged() const noexcept {
    return !responded_ && taken_ == stream_challenge_bytes;
  }
  public_share listener_share() const noexcept;
  // Returns the bytes to send. Once, when is_challenged(). The confirmation is wanted next.
  const std::array<std::byte, stream_response_bytes>& respond(
      const stream_draw& drawn) noexcept;
  // Returns the key of the records, after respond(); `agreed`: of both shares.
  digest record_key(const digest& agreed) const noexcept;

 private:
  stream_end own_;
  std::uint64_t listener_;
  std::uint32_t connection_;
  std::array<std::byte, stream_challenge_bytes> challenge_{};
  std::array<std::byte, stream_response_bytes> response_{};
  digest confirmation_{};
  std::size_t taken_ = 0;
  bool responded_ = false;
};

}  // namespace tidegate::runtime
