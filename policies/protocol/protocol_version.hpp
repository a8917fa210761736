// Which protocol the processes of a cluster speak. One that is built with another Tidegate than
// the launcher is refused as it starts: the frames of other versions are dropped, and everybody
// would wait for ever. Pure, any thread.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/status.hpp"

namespace tidegate::policies {

// Of the messages of the control plane (actors/control/messages.hpp) and the handshake before
// them; rises when any of them changes.
inline constexpr unsigned control_version = 11;

// How the launcher tells.
inline constexpr const char* protocol_variable = "TIDEGATE_PROTOCOL";
std::string protocol_text();

// `launchers`: what it has told, null if nothing. `remedy`: what to do about another one.
// Errors: invalid_argument.
runtime::status check_protocol(const char* launchers, std::string_view remedy);

}  // namespace tidegate::policies
