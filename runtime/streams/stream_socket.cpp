#include "runtime/streams/stream_socket.hpp"

#include <cerrno>
#include <cstring>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string_view>
#include <sys/ioctl.h>
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

// The kernel's own limit for what is not acknowledged counts a peer, too, whose kernel answers
// and whose process does not read: such a process may be stopped, or be busy.
void prepare_stream(int socket, std::uint32_t silent_ms) noexcept {
  constexpr int never = 0;
  constexpr int probes = 3;  // each a quarter of the limit after the other
  set_options(socket, silent_ms > 0 ? silent_ms : silent_ms_preset);
  (void)::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &never, sizeof never);
  (void)::setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
  (void)::setsockopt(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent_bytes_most,
                     sizeof unsent_bytes_most);
}

stream_acks acks_of(int socket) noexcept {
  tcp_info info{};
  socklen_t size = sizeof info;
  int unsent = 0;
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 ||
      ::ioctl(socket, SIOCOUTQ, &unsent) != 0)
    return {};
  // While the window is closed this kernel asks again after longer and longer pauses, with a
  // probe or with what it has sent before, and the other's answers each time.
  const bool is_answered = info.tcpi_last_ack_recv <= info.tcpi_last_data_sent;
  return {.is_owed = info.tcpi_probes > 0 || (info.tcpi_unacked > 0 && !is_answered),
          .has_unsent = unsent > 0,
          .last_ns = std::int64_t{info.tcpi_last_ack_recv} * million};
}

void shut_down(int socket) noexcept {
  (void)::shutdown(socket, SHUT_RDWR);
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
