// TCP sockets that do not block: names of hosts, listening and connecting. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <netdb.h>
#include <string>

#include "runtime/base/status.hpp"
#include "runtime/base/unique_fd.hpp"

namespace tidegate::runtime {

using socket_addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

// Returns the addresses that a name or address of a host stands for; at least one. Blocks for
// as long as whoever knows names takes to answer. `flags`: of getaddrinfo(3). Errors:
// unavailable.
expected<socket_addresses> resolve(const std::string& host, std::uint16_t port, int flags = 0);

// Begins to connect; the socket can be written to when that is over, and connected_as() says
// how. Errors: unavailable (it is over already), io_error (no descriptor).
expected<unique_fd> begin_to_connect(const addrinfo& address);
status connected_as(int connection);

// Connects, and blocks for `within_ms` at most. Errors: unavailable, io_error (no descriptor).
expected<unique_fd> connect_to(const addrinfo& address, std::uint32_t within_ms);

// Listens at this address alone; at "::" at all, of IPv4 too. `port` 0: the system chooses.
// Errors: unavailable (the address is not of this host), already_exists (the port is in use).
expected<unique_fd> listen_on(const std::string& host, std::uint16_t port);

// The port that a socket is bound to; 0: none.
std::uint16_t port_of(int socket) noexcept;

// Returns the IP address that a socket is bound to; empty: none.
std::string ip_of(int socket);

// Returns true if accept(2) failed, with this errno, for want of descriptors or memory: the
// listener stays readable, and is to rest.
bool has_no_room(int why) noexcept;

// Waits until the socket is ready for these events of poll(2). Returns false if it is not
// within so long.
bool is_ready(int socket, short events, std::uint32_t within_ms);

// No delay, and an end when the other host has not acknowledged for so long what was sent, or
// that it is there.
void set_options(int connection, std::uint32_t unreachable_ms) noexcept;

}  // namespace tidegate::runtime
