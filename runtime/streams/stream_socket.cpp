#include "runtime/streams/stream_socket.hpp"

#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string_view>
#include <sys/socket.h>

#include "runtime/sockets/tcp_socket.hpp"

namespace tidegate::runtime {

namespace {

constexpr std::int64_t million = 1'000'000;
constexpr std::uint32_t silent_ms_preset = 10'000;
// Enough for the system to keep a network busy, little enough to stay in a cache.
constexpr int unsent_bytes_most = 1 << 20;

}  // namespace

std::int64_t stream_patience_ns(std::uint32_t silent_ms) noexcept {
  return static_cast<std::int64_t>(silent_ms > 0 ? silent_ms : silent_ms_preset) * million;
}

expected<unique_fd> begin_stream(const std::string& host, std::uint16_t port) {
  const auto all = resolve(host, port, AI_NUMERICHOST);
  if (!all) return fail(all.error());
  return begin_to_connect(**all);
}

void prepare_stream(int socket, std::uint32_t silent_ms) noexcept {
  set_options(socket, silent_ms > 0 ? silent_ms : silent_ms_preset);
  (void)::setsockopt(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent_bytes_most,
                     sizeof unsent_bytes_most);
}

void prefer_reno_on_one_host(int socket) noexcept {
  sockaddr_storage own{};
  sockaddr_storage other{};
  socklen_t own_size = sizeof own;
  socklen_t other_size = sizeof other;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &own_size) != 0 ||
      ::getpeername(socket, reinterpret_cast<sockaddr*>(&other), &other_size) != 0 ||
      own.ss_family != other.ss_family)
    return;
  const bool same = own.ss_family == AF_INET
                        ? reinterpret_cast<const sockaddr_in&>(own).sin_addr.s_addr ==
                              reinterpret_cast<const sockaddr_in&>(other).sin_addr.s_addr
                        : std::memcmp(&reinterpret_cast<const sockaddr_in6&>(own).sin6_addr,
                                      &reinterpret_cast<const sockaddr_in6&>(other).sin6_addr,
                                      sizeof(in6_addr)) == 0;
  constexpr std::string_view reno = "reno";
  if (same) (void)::setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, reno.data(), reno.size());
}

std::string why_ended(int socket) {
  char byte = 0;
  const auto got = ::recv(socket, &byte, 1, MSG_DONTWAIT);
  if (got > 0) return "it sends where it only receives";
  if (got == 0) return "it closed the connection";
  return std::strerror(errno);
}

}  // namespace tidegate::runtime
