#include "launch/door/sockets.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "launch/text/scalars.hpp"

namespace tidegate::launch {

namespace {

using runtime::errc;
using runtime::unique_fd;

// A peer whose host has gone without a word is found out by then.
constexpr int gone_after_s = 30;
constexpr std::uint64_t port_max = 65535;
constexpr int backlog = 128;

struct addresses_end {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using addresses = std::unique_ptr<addrinfo, addresses_end>;

runtime::expected<addresses> addresses_of(const socket_place& place, int flags) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* list = nullptr;
  const int result =
      ::getaddrinfo(place.host.c_str(), std::to_string(place.port).c_str(), &hints, &list);
  if (result != 0)
    return runtime::fail(errc::unavailable, to_string(place) + ": " + ::gai_strerror(result));
  return addresses(list);
}

unique_fd socket_for(const addrinfo& address) {
  return unique_fd(::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

void set_options(int connection) {
  const int on = 1;
  const int idle = gone_after_s / 3;
  const unsigned gone_after_ms = gone_after_s * 1000U;
  ::setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(connection, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(connection, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  ::setsockopt(connection, IPPROTO_TCP, TCP_KEEPINTVL, &idle, sizeof idle);
  ::setsockopt(connection, IPPROTO_TCP, TCP_USER_TIMEOUT, &gone_after_ms, sizeof gone_after_ms);
}

socket_place place_in(const sockaddr_storage& address, socklen_t length) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (::getnameinfo(reinterpret_cast<const sockaddr*>(&address), length, host.data(),
                    host.size(), port.data(), port.size(),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return {};
  const auto number = parse_unsigned(port.data());
  return {.host = host.data(), .port = static_cast<std::uint16_t>(number ? *number : 0)};
}

// Returns 0, or why there is no connection.
int finish_connecting(int connection, std::uint32_t within_ms) {
  pollfd waited{.fd = connection, .events = POLLOUT, .revents = 0};
  const int ready = ::poll(&waited, 1, static_cast<int>(within_ms));
  if (ready == 0) return ETIMEDOUT;
  int why = 0;
  socklen_t length = sizeof why;
  if (ready < 0 || ::getsockopt(connection, SOL_SOCKET, SO_ERROR, &why, &length) != 0)
    return errno;
  return why;
}

}  // namespace

runtime::expected<socket_place> parse_place(const std::string& text) {
  socket_place place{.host = text, .port = door_port_default};
  std::string port;
  const auto colon = text.rfind(':');
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    place.host = text.substr(1, end == std::string::npos ? end : end - 1);
    const auto rest = end == std::string::npos ? ":" : text.substr(end + 1);
    if (!rest.empty()) port = rest.starts_with(':') ? rest.substr(1) : "-";
    if (port.empty() && !rest.empty()) port = "-";
  } else if (colon != std::string::npos && text.find(':') == colon) {
    place.host = text.substr(0, colon);
    port = text.substr(colon + 1);
    if (port.empty()) port = "-";
  }
  if (!port.empty()) {
    const auto number = parse_unsigned(port);
    if (!number || *number > port_max) place.host.clear();
    place.port = static_cast<std::uint16_t>(number ? *number : 0);
  }
  if (place.host.empty())
    return runtime::fail(errc::invalid_argument,
                         "'" + text +
                             "' is no address of a door; allowed: NAME, NAME:PORT, "
                             "ADDRESS:PORT, [ADDRESS]:PORT");
  return place;
}

std::string to_string(const socket_place& place) {
  const bool is_v6 = place.host.find(':') != std::string::npos;
  return (is_v6 ? "[" + place.host + "]" : place.host) + ":" + std::to_string(place.port);
}

runtime::expected<unique_fd> listen_at(const socket_place& place) {
  const auto list = addresses_of(place, AI_PASSIVE);
  if (!list) return runtime::fail(list.error());
  unique_fd listener = socket_for(**list);
  if (!listener) return runtime::fail(errc::io_error, std::strerror(errno));
  const int on = 1;
  const int off = 0;
  ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  ::setsockopt(listener.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (::bind(listener.get(), (*list)->ai_addr, (*list)->ai_addrlen) != 0 ||
      ::listen(listener.get(), backlog) != 0)
    return runtime::fail(errc::unavailable, to_string(place) + ": " + std::strerror(errno));
  return listener;
}

socket_place place_of(int socket) {
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
  set_options(connection.get());
  peer = to_string(place_in(address, length));
  return connection;
}

runtime::expected<unique_fd> connect_to(const socket_place& place, std::uint32_t within_ms) {
  const auto list = addresses_of(place, 0);
  if (!list) return runtime::fail(list.error());
  int why = 0;
  for (const auto* address = list->get(); address != nullptr; address = address->ai_next) {
    auto connection = socket_for(*address);
    why = errno;
    if (!connection) continue;
    const int result = ::connect(connection.get(), address->ai_addr, address->ai_addrlen);
    why = result == 0            ? 0
          : errno == EINPROGRESS ? finish_connecting(connection.get(), within_ms)
                                 : errno;
    if (why != 0) continue;
    set_options(connection.get());
    return connection;
  }
  return runtime::fail(errc::unavailable, to_string(place) + ": " + std::strerror(why));
}

}  // namespace tidegate::launch
