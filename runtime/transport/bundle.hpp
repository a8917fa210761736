// A bundle: one message with several frames of one sender. On the wire it is the headers of its
// frames, one after another, and their payloads, likewise; only frames with payload travel so.
//
// Nothing in a bundle is shared between its frames: whoever receives it sees them one by one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/base/status.hpp"
#include "runtime/transport/frame.hpp"

namespace tidegate::runtime {

// In one bundle. So many headers fit into what every transport of UCX takes as a header.
inline constexpr std::size_t bundle_frames_max = 64;
inline constexpr std::uint64_t bundle_payload_bytes_max = 1U << 20U;

// Decodes the headers of a bundle into `headers`, which is emptied first and allocates nothing
// once it was full. Trusts nothing: every header is one of decode(), and together they claim
// just the bytes that have arrived. Errors: corrupt; `headers` then is empty, as one bad frame
// leaves the places of all others in doubt.
status decode_bundle(std::span<const std::byte> wire, std::uint64_t payload_bytes_arrived,
                     std::vector<frame_header>& headers);

}  // namespace tidegate::runtime
