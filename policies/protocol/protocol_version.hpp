// Which protocol the processes of a cluster speak. A process that is built with another
// Tidegate than the launcher is refused as it starts: the frames of other versions are dropped,
// and all would wait for ever. Pure, any thread.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/status.hpp"

namespace tidegate::policies {

// The version of the messages of the control plane (actors/control/messages.hpp) and the
// handshake before them. It rises when any of them changes.
inline constexpr unsigned control_version = 27;

// The launcher sets this variable of each process to protocol_text().
inline constexpr const char* protocol_variable = "TIDEGATE_PROTOCOL";
std::string protocol_text();

// Checks that the launcher speaks the protocol of this program. `launchers` is the value of the
// variable, null if it is not set; `remedy` is what the message says to do about another
// protocol. Errors: invalid_argument.
runtime::status check_protocol(const char* launchers, std::string_view remedy);

}  // namespace tidegate::policies
