// The link of a process that the launcher has started: over what, and at which address, its
// environment says. One reactor thread has the link.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/base/status.hpp"
#include "runtime/transport/link.hpp"

namespace tidegate::actors {

// Whose memory this process may share (peer_address.hpp): its host's, or nobody's (0) when
// TIDEGATE_TRANSPORT says that all payload is sent.
std::uint64_t shared_host();
// Makes this process's link: at the address of its host, over the transport it is told.
runtime::expected<std::unique_ptr<runtime::link>> make_own_link();

}  // namespace tidegate::actors
