// What launchers and agents of hosts say to each other (policies/protocol/agent_messages.hpp),
// as CBOR (RFC 8949), in which what workers keep travels as it is. Pure, any thread.
#pragma once

#include <string>
#include <string_view>

#include "policies/protocol/agent_messages.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::launch {

// The first text of an agent over each connection: the name of its host in the cluster.
std::string greeting_text(const std::string& host);
std::string frame_text(const policies::agent_frame& frame);
std::string frame_text(const policies::launcher_frame& frame);

// What those wrote. Errors: corrupt.
runtime::expected<std::string> parse_greeting(std::string_view text);
runtime::expected<policies::agent_frame> parse_agent_frame(std::string_view text);
runtime::expected<policies::launcher_frame> parse_launcher_frame(std::string_view text);

}  // namespace tidegate::launch
