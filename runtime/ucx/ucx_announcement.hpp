// What goes before a payload that is announced (rendezvous), of this folder alone: the header
// of its frame, and over which connection of which worker it comes.
//
// A payload that is announced is fetched, and UCX tells the receiver of its end. But where the
// sender has closed the connection, UCX says nothing if the receiver fetches over an endpoint
// of its own that still stands: it waits for ever. So a sender says which connections it has
// given up (hearing_kind::given_up), and the receiver ends what it fetches from them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "runtime/transport/frame.hpp"

namespace tidegate::runtime {

// A connection as its sender knows it. No number comes twice.
struct frame_origin {
  std::uint64_t worker = 0;      // UCX's number of the sender's worker
  std::uint32_t connection = 0;  // peer_id at the sender
  std::uint32_t reserved = 0;

  friend bool operator==(const frame_origin&, const frame_origin&) = default;
};

inline constexpr std::size_t announcement_bytes = frame_header_bytes + sizeof(frame_origin);
using announcement_wire = std::array<std::byte, announcement_bytes>;

inline void write_origin(const frame_origin& origin, announcement_wire& wire) noexcept {
  std::memcpy(wire.data() + frame_header_bytes, &origin, sizeof origin);
}
// `wire`: announcement_bytes.
inline frame_origin read_origin(std::span<const std::byte> wire) noexcept {
  frame_origin origin;
  std::memcpy(&origin, wire.data() + frame_header_bytes, sizeof origin);
  return origin;
}

}  // namespace tidegate::runtime
