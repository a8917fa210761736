#include "launch/door/sockets.hpp"

#include <array>
#include <netdb.h>
#include <sys/socket.h>
#include <utility>

#include "launch/text/scalars.hpp"
#include "runtime/sockets/tcp_socket.hpp"

namespace tidegate::launch {

namespace {

using runtime::errc;
using runtime::unique_fd;

// A peer whose host has gone without a word is found out by then.
constexpr std::uint32_t gone_after_ms = 30'000;

endpoint place_in(const sockaddr_storage& address, socklen_t length) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (::getnameinfo(reinterpret_cast<const sockaddr*>(&address), length, host.data(),
                    host.size(), port.data(), port.size(),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return {};
  const auto number = parse_unsigned(port.data());
  return {.host = host.data(), .port = static_cast<std::uint16_t>(number ? *number : 0)};
}

}  // namespace

runtime::expected<endpoint> parse_place(const std::string& text) {
  if (auto place = parse_endpoint(text, door_port_default)) return std::move(*place);
  return runtime::fail(errc::invalid_argument,
                       "'" + text +
                           "' is no address of a door; allowed: NAME, NAME:PORT, "
                           "ADDRESS:PORT, [ADDRESS]:PORT");
}

endpoint place_of(int socket) {
  sockaddr_storage address = {};
  socklen_t length = sizeof address;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) return {};
  return place_in(address, length);
}

unique_fd accept_from(int listener, std::string& peer) {
  sockaddr_storage address = {};
  socklen_t length = sizeof address;
  unique_fd connection(::accept4(listener, reinterpret_cast<sockaddr*>(&address), &length,
                                 SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!connection) return connection;
  runtime::set_options(connection.get(), gone_after_ms);
  peer = to_string(place_in(address, length));
  return connection;
}

runtime::expected<unique_fd> connect_to(const endpoint& place, std::uint32_t within_ms) {
  const auto all = runtime::resolve(place.host, place.port);
  if (!all) return runtime::fail(all.error());
  runtime::status why;
  for (const auto* address = all->get(); address != nullptr; address = address->ai_next) {
    auto connection = runtime::connect_to(*address, within_ms);
    if (connection) {
      runtime::set_options(connection->get(), gone_after_ms);
      return connection;
    }
    why = connection.error();
  }
  return runtime::fail(errc::unavailable, to_string(place) + ": " + why.message());
}

}  // namespace tidegate::launch
