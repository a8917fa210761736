#include "runtime/sockets/tcp_socket.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

namespace tidegate::runtime {

namespace {

constexpr int backlog = 1024;

unique_fd new_socket(const addrinfo& address) {
  return unique_fd(::socket(address.ai_family,
                            address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC,
                            address.ai_protocol));
}

// Where nothing else is asked for, each is an improvement that a socket also works without.
void set(int socket, int level, int name, int value) noexcept {
  (void)::setsockopt(socket, level, name, &value, sizeof value);
}

}  // namespace

expected<socket_addresses> resolve(const std::string& host, std::uint16_t port, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (code != 0)
    return fail(errc::unavailable, "the address '" + host + "': " + ::gai_strerror(code));
  return socket_addresses(found, &::freeaddrinfo);
}

bool has_no_room(int why) noexcept {
  return why == EMFILE || why == ENFILE || why == ENOBUFS || why == ENOMEM;
}

bool is_ready(int socket, short events, std::uint32_t within_ms) {
  using wall = std::chrono::steady_clock;
  const auto deadline = wall::now() + std::chrono::milliseconds(within_ms);
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - wall::now()).count();
    pollfd waited{.fd = socket, .events = events, .revents = 0};
    const int ready = ::poll(&waited, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

expected<unique_fd> begin_to_connect(const addrinfo& address) {
  auto connection = new_socket(address);
  if (!connection)
    return fail(errc::io_error, std::string("a socket: ") + std::strerror(errno));
  if (::connect(connection.get(), address.ai_addr, address.ai_addrlen) != 0 &&
      errno != EINPROGRESS)
    return fail(errc::unavailable, std::strerror(errno));
  return connection;
}

status connected_as(int connection) {
  int code = 0;
  socklen_t size = sizeof code;
  ::getsockopt(connection, SOL_SOCKET, SO_ERROR, &code, &size);
  return code == 0 ? status() : status(errc::unavailable, std::strerror(code));
}

expected<unique_fd> connect_to(const addrinfo& address, std::uint32_t within_ms) {
  auto connection = begin_to_connect(address);
  if (!connection) return connection;
  if (!is_ready(connection->get(), POLLOUT, within_ms))
    return fail(errc::unavailable, "no answer in time");
  if (auto connected = connected_as(connection->get()); !connected.ok())
    return fail(std::move(connected));
  return connection;
}

expected<unique_fd> listen_on(const std::string& host, std::uint16_t port) {
  const auto all = resolve(host, port, AI_PASSIVE);
  if (!all) return fail(all.error());
  int code = 0;
  for (const auto* address = all->get(); address != nullptr; address = address->ai_next) {
    auto listener = new_socket(*address);
    const int on = 1;
    if (listener && address->ai_family == AF_INET6)
      set(listener.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
    if (listener &&
        ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        ::bind(listener.get(), address->ai_addr, address->ai_addrlen) == 0 &&
        ::listen(listener.get(), backlog) == 0)
      return listener;
    code = errno;
  }
  return fail(code == EADDRINUSE ? errc::already_exists : errc::unavailable,
              "listening on " + host + ":" + std::to_string(port) + ": " + std::strerror(code));
}

std::uint16_t port_of(int socket) noexcept {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &size) != 0) return 0;
  if (bound.ss_family == AF_INET)
    return ntohs(reinterpret_cast<const sockaddr_in&>(bound).sin_port);
  if (bound.ss_family == AF_INET6)
    return ntohs(reinterpret_cast<const sockaddr_in6&>(bound).sin6_port);
  return 0;
}

std::string ip_of(int socket) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  std::array<char, NI_MAXHOST> text{};
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &size) != 0 ||
      ::getnameinfo(reinterpret_cast<const sockaddr*>(&bound), size, text.data(), text.size(),
                    nullptr, 0, NI_NUMERICHOST) != 0)
    return {};
  return text.data();
}

void set_options(int connection, std::uint32_t unreachable_ms) noexcept {
  const auto seconds = static_cast<int>(std::max(unreachable_ms / 4'000U, 1U));
  set(connection, IPPROTO_TCP, TCP_NODELAY, 1);
  set(connection, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(connection, IPPROTO_TCP, TCP_KEEPIDLE, seconds);
  set(connection, IPPROTO_TCP, TCP_KEEPINTVL, seconds);
  set(connection, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(unreachable_ms));
}

}  // namespace tidegate::runtime
