// What the connections of one link over streams share, of this folder alone. One reactor
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/base/status.hpp"
#include "runtime/streams/stream_events.hpp"
#include "runtime/streams/stream_handshake.hpp"
#include "runtime/transport/frame_delivery.hpp"
#include "runtime/transport/link.hpp"

namespace tidegate::runtime {

// Payload of a sealed stream goes in records of so many bytes; the last one of a frame has
// fewer.
inline constexpr std::size_t record_bytes_max = std::size_t{64} << 10U;

// So many frames whose sending ends between two looks take no memory.
inline constexpr std::size_t outcomes_at_once = 64;

struct stream_home {
  struct outcome {
    send_token token;
    bool sent;
  };
  struct loss {
    peer_id peer;
    status why;
  };

  stream_end own;
  std::uint32_t silent_ms = 0;
  stream_events events;
  link_counters counters;
  frame_delivery delivery{counters};
  // Counts losses and admissions, in their order.
  std::uint64_t events_so_far = 0;
  bool wants_timer = false;  // some stream has another deadline than before
  // Told in progress().
  std::vector<outcome> sent;
  std::vector<loss> lost;
  std::vector<frame_header> frames_lost;
  // Where bytes go that have no place yet.
  std::vector<std::byte> scratch;
};

// Not a frame, but of a frame header's size: over which connection nothing more is meant to
// come.
//
//   0 magic u32 | 4 connection u32 | 8 zeros
inline constexpr std::uint32_t notice_magic = 0x4e474454;  // "TDGN"

}  // namespace tidegate::runtime
