// The header of every frame on the data plane, and its wire form: 96 bytes, little endian.
//
//   0 magic u32 | 4 version u8 | 5 kind u8 | 6 flags u16 | 8 job token u64 | 16 epoch u64 |
//   24 clock u64 | 32 version u64 | 40 min clock u64, or squares f64 | 48 payload bytes u64 |
//   56 request u64 | 64 incarnation u32 | 68 worker u32 | 72 table u32 | 76 chunk u32 | 80 code
//   u32 | 84 count u32 | 88 version buffer u16 | 90 shard u16 | 92 rate f32
//
// decode() trusts nothing: it returns a header only for bytes that encode() could have made.
// Whether token, table or chunk exist is for the receiver to say. Pure functions, any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/frame_header.hpp"
#include "runtime/base/status.hpp"
#include "runtime/memory/arena.hpp"

namespace tidegate::runtime {

inline constexpr std::size_t frame_header_bytes = 96;
inline constexpr std::uint32_t frame_magic = 0x31474454;  // "TDG1"

using frame_header_wire = std::array<std::byte, frame_header_bytes>;

frame_header_wire encode(const frame_header& header) noexcept;

// `payload_bytes_arrived`: what the transport counted. Errors: corrupt, with what is wrong.
expected<frame_header> decode(std::span<const std::byte> wire,
                              std::uint64_t payload_bytes_arrived);
// What a header says about its payload, which nobody has checked. `wire`: frame_header_bytes.
std::uint64_t claimed_payload_bytes(std::span<const std::byte> wire) noexcept;

// The payload of attach and of attach_ack.
inline constexpr std::size_t place_wire_bytes = 40;
using place_wire = std::array<std::byte, place_wire_bytes>;
place_wire encode(const shm_handle& place) noexcept;
// Errors: corrupt (another length). What it says is for window_map to check.
expected<shm_handle> decode_place(std::span<const std::byte> wire);

}  // namespace tidegate::runtime
