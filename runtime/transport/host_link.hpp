// The link between processes of one host: a frame ring in shared memory for each direction of
// each pair, and another link for peers that are elsewhere.
//
// Nobody writes to memory that another process reads from a third: a process that is killed or
// stopped at any instruction holds up nobody but those who wait for it (docs/decisions/
// 0012-rings.md). Payload of link::memory() is copied once, from there to its place; other
// payload passes through the ring in pieces. Nothing here notices that a peer has died; see
// link::disconnect().
#pragma once

#include <memory>
#include <string_view>

#include "runtime/base/status.hpp"
#include "runtime/transport/link.hpp"

namespace tidegate::runtime {

// `elsewhere`: for peers with reach::network, and for those of this host whose memory cannot be
// opened (another user's). Errors: io_error (no descriptor, no memory).
expected<std::unique_ptr<link>> make_host_link(std::unique_ptr<link> elsewhere);

// Whether that link, by its address, was closed by a process that lives: it reads nobody's
// memory any more. False also where we may not know. Any thread.
bool is_closed(std::string_view address) noexcept;

}  // namespace tidegate::runtime
