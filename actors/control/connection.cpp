#include "actors/control/connection.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <utility>

#include "policies/protocol/handshake.hpp"

namespace tidegate::actors {

using policies::handshake_state;
using runtime::errc;
using runtime::expected;
using runtime::fail;
using runtime::status;
using runtime::unique_fd;

namespace {

using wall = std::chrono::steady_clock;
using addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

std::string system_error(const std::string& doing, int code) {
  return doing + ": " + std::strerror(code);
}

expected<addresses> resolve(const std::string& host, std::uint16_t port, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (code != 0)
    return fail(errc::unavailable, "the address '" + host + "': " + ::gai_strerror(code));
  return addresses(found, &::freeaddrinfo);
}

unique_fd new_socket(const addrinfo& address) {
  return unique_fd(::socket(address.ai_family,
                            address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC,
                            address.ai_protocol));
}

// Returns false if nothing happens before the deadline.
bool wait_for(int socket, short events, wall::time_point deadline) {
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - wall::now()).count();
    pollfd waited{.fd = socket, .events = events, .revents = 0};
    const int ready = ::poll(&waited, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

expected<unique_fd> connect_to(const addrinfo& address, wall::time_point deadline) {
  auto connection = new_socket(address);
  if (!connection) return fail(errc::io_error, system_error("a socket", errno));
  if (::connect(connection.get(), address.ai_addr, address.ai_addrlen) == 0) return connection;
  if (errno != EINPROGRESS) return fail(errc::unavailable, std::strerror(errno));
  if (!wait_for(connection.get(), POLLOUT, deadline))
    return fail(errc::unavailable, "no answer in time");
  int code = 0;
  socklen_t size = sizeof code;
  ::getsockopt(connection.get(), SOL_SOCKET, SO_ERROR, &code, &size);
  if (code != 0) return fail(errc::unavailable, std::strerror(code));
  return connection;
}

status prove(int connection, const control_options& options, wall::time_point deadline) {
  policies::nonce drawn{};
  if (auto done = runtime::draw_secret(drawn); !done.ok()) return done;
  policies::caller_handshake handshake(options.token, drawn);
  std::array<std::byte, policies::challenge_bytes> bytes{};
  for (;;) {
    if (!wait_for(connection, POLLIN, deadline))
      return {errc::unavailable, "it listens and says nothing"};
    const auto wanted = std::min(handshake.wants(), bytes.size());
    const auto got = ::recv(connection, bytes.data(), wanted, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got < 0) return {errc::unavailable, std::strerror(errno)};
    if (got == 0)
      return {errc::unavailable,
              "it closed the connection: it ends, or is of another run (TIDEGATE_TOKEN)"};
    const auto state = handshake.take({bytes.data(), static_cast<std::size_t>(got)});
    if (state == handshake_state::proven) return {};
    if (state != handshake_state::waiting)
      return {errc::unavailable, std::string(policies::to_string(state))};
    const auto response = handshake.response();
    if (response.empty()) continue;
    // A connection's first bytes always fit what the system has set aside to send.
    if (::send(connection, response.data(), response.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(response.size()))
      return {errc::unavailable, std::strerror(errno)};
    handshake.responded();
  }
}

}  // namespace

expected<unique_fd> connect_proven(const std::string& host, std::uint16_t port,
                                   const control_options& options) {
  const auto where = host + ":" + std::to_string(port);
  const auto all = resolve(host, port, 0);
  if (!all) return fail(all.error());
  const auto time_limit = std::chrono::milliseconds(options.connect_ms);
  status why(errc::unavailable, "it has no address");
  for (const auto* address = all->get(); address != nullptr; address = address->ai_next) {
    auto connection = connect_to(*address, wall::now() + time_limit);
    if (!connection) {
      why = connection.error();
      continue;
    }
    set_options(connection->get(), options);
    why = prove(connection->get(), options, wall::now() + time_limit);
    if (why.ok()) return connection;
  }
  return fail(why.code(), std::string("no ") + options.listener + " of this run answers at " +
                              where + ": " + why.message());
}

expected<unique_fd> listen_on(const std::string& host, std::uint16_t port) {
  const auto all = resolve(host, port, AI_PASSIVE);
  if (!all) return fail(all.error());
  constexpr int backlog = 1024;
  int code = 0;
  for (const auto* address = all->get(); address != nullptr; address = address->ai_next) {
    auto listener = new_socket(*address);
    const int on = 1;
    if (listener &&
        ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        ::bind(listener.get(), address->ai_addr, address->ai_addrlen) == 0 &&
        ::listen(listener.get(), backlog) == 0)
      return listener;
    code = errno;
  }
  return fail(errc::unavailable,
              system_error("listening on " + host + ":" + std::to_string(port), code));
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

void set_options(int connection, const control_options& options) noexcept {
  // Each is an improvement that the connection also works without.
  const auto set = [connection](int level, int name, int value) {
    (void)::setsockopt(connection, level, name, &value, sizeof value);
  };
  const auto seconds = static_cast<int>(std::max(options.unreachable_ms / 4'000U, 1U));
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, seconds);
  set(IPPROTO_TCP, TCP_KEEPINTVL, seconds);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(options.unreachable_ms));
}

}  // namespace tidegate::actors
