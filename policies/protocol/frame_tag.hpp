// The tag by which a frame names a push or pull, and the names that cores have for payloads and
// versions. Plain values.
#pragma once

#include <cstdint>

namespace tidegate::policies {

inline constexpr std::uint32_t whole_table = 0xffff'ffff;  // as the chunk of a tag

using payload_handle = std::uint32_t;  // the shell's; no_payload means a skipped push
inline constexpr payload_handle no_payload = 0;
inline constexpr std::uint32_t no_version_buffer = 0xffff'ffff;
inline constexpr std::uint32_t all_ranks = 0xffff'ffff;

// The push or pull that a frame speaks of.
struct frame_tag {
  std::uint64_t job = 0;  // token
  std::uint64_t epoch = 0;
  std::uint32_t incarnation = 0;
  std::uint32_t rank = 0;
  std::uint32_t table = 0;
  std::uint32_t chunk = 0;
  std::uint64_t clock = 0;
  std::uint64_t request = 0;  // pulls: the worker's number for it, rising per chunk
  float rate = 1.0F;          // pushes: what the learning rate of their step is multiplied by

  friend bool operator==(const frame_tag&, const frame_tag&) = default;
};

}  // namespace tidegate::policies
