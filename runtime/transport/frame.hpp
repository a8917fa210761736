// The header of every frame on the data plane, and its wire form: 72 bytes, little endian.
//
//   0 magic u32 | 4 version u8 | 5 kind u8 | 6 flags u16 | 8 job token u64 | 16 epoch u32 |
//   20 incarnation u32 | 24 worker u32 | 28 table u32 | 32 chunk u32 | 36 code u32 | 40 clock
//   u64 | 48 version u64 | 56 min clock u64 | 64 payload bytes u64
//
// decode() trusts nothing: it returns a header only for bytes that encode() could have made.
// Whether token, table or chunk exist is for the receiver to say. Pure functions, any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/status.hpp"

namespace tidegate::runtime {

enum class frame_kind : std::uint8_t {
  push = 1,      // worker -> shard: gradient of a chunk; payload
  push_ack = 2,  // shard -> worker: applied once (code 0), or why not
  skip = 3,  // worker -> shard: no push of this table in this clock; acknowledged like a push
  pull = 4,  // worker -> shard: asks for a chunk
  pull_reply = 5,  // shard -> worker: parameters of a chunk (payload, code 0), or why not
  finished = 6,    // worker -> shard: no more pushes from this worker; acknowledged
};
inline constexpr std::uint8_t frame_kind_last = 6;

// The chunk of frames that speak of a whole job: finished and its acknowledgement.
inline constexpr std::uint32_t whole_job = 0xffff'ffff;

// Bits of `flags`.
inline constexpr std::uint16_t frame_flag_final =
    1;  // pull: of everything, see session::pull_final

struct frame_header {
  frame_kind kind = frame_kind::push;
  std::uint16_t flags = 0;
  std::uint64_t job = 0;  // token
  std::uint32_t epoch = 0;
  std::uint32_t incarnation = 0;
  std::uint32_t worker = 0;  // rank
  std::uint32_t table = 0;
  std::uint32_t chunk = 0;
  std::uint32_t code = 0;  // refusal (policies/protocol.hpp), 0 = fine
  std::uint64_t clock = 0;
  std::uint64_t version = 0;  // pull_reply: version of the chunk
  std::uint64_t min_clock =
      0;  // pull_reply: the payload holds every worker's clocks below this
  std::uint64_t payload_bytes = 0;

  friend bool operator==(const frame_header&, const frame_header&) = default;
};

inline constexpr std::size_t frame_header_bytes = 72;
inline constexpr std::uint32_t frame_magic = 0x31474454;  // "TDG1"
inline constexpr std::uint8_t frame_version = 1;

using frame_header_wire = std::array<std::byte, frame_header_bytes>;

frame_header_wire encode(const frame_header& header) noexcept;

// `payload_bytes_arrived`: what the transport counted. Errors: corrupt, with what is wrong.
expected<frame_header> decode(std::span<const std::byte> wire,
                              std::uint64_t payload_bytes_arrived);

}  // namespace tidegate::runtime
