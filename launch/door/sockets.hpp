// TCP sockets of doors and relays: that listen, accept and connect, and never block. Any
// thread.
#pragma once

#include <cstdint>
#include <string>

#include "launch/text/endpoint.hpp"
#include "runtime/base/status.hpp"
#include "runtime/base/unique_fd.hpp"

namespace tidegate::launch {

inline constexpr std::uint16_t door_port_default = 7077;

// "name", "name:7000", "10.0.0.1:7000", "[fd00::1]:7000"; without a port, the default one.
// Errors: invalid_argument.
runtime::expected<endpoint> parse_place(const std::string& text);

// Returns where a socket is bound.
endpoint place_of(int socket);
// Returns a connection that has come, and from where; an invalid descriptor: nobody has come,
// or the system has no descriptor for it.
runtime::unique_fd accept_from(int listener, std::string& peer);
// Connects, and blocks for `within_ms` at most for each address of that name. Errors:
// unavailable (the name has no address, nobody listens there, or nothing answers).
runtime::expected<runtime::unique_fd> connect_to(const endpoint& place,
                                                 std::uint32_t within_ms);

}  // namespace tidegate::launch
