// The floor of what payload between two hosts costs: two processes send each other bytes at
// once over one TCP connection, from and into memory of the size of a model, and do nothing
// else.
//
//   bench_socket_pair listen PORT BYTES ROUNDS
//   bench_socket_pair call HOST PORT BYTES ROUNDS
//
// Prints seconds and CPU seconds, of the rounds after the first, as JSON.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

constexpr std::size_t block_bytes = std::size_t{512} << 10U;

[[noreturn]] void fail(const char* why) {
  std::fprintf(stderr, "bench_socket_pair: %s: %s\n", why, std::strerror(errno));
  std::exit(1);
}

int meet(bool listens, const char* host, const char* port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = listens ? AI_PASSIVE : 0;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host, port, &hints, &found) != 0) fail("the address");
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> address(found, &::freeaddrinfo);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  for (;;) {
    const int own = ::socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    (void)::setsockopt(own, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (listens) {
      if (::bind(own, address->ai_addr, address->ai_addrlen) != 0 || ::listen(own, 1) != 0)
        fail("listening");
      return ::accept4(own, nullptr, nullptr, SOCK_CLOEXEC);
    }
    if (::connect(own, address->ai_addr, address->ai_addrlen) == 0) return own;
    ::close(own);
    if (std::chrono::steady_clock::now() > until) fail("connecting");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// Sends all of one and fills all of the other.
void exchange(int connection, const std::vector<char>& sent, std::vector<char>& received) {
  std::size_t out = 0;
  std::size_t in = 0;
  while (out < sent.size() || in < received.size()) {
    pollfd waited{.fd = connection,
                  .events = static_cast<short>((out < sent.size() ? POLLOUT : 0) |
                                               (in < received.size() ? POLLIN : 0)),
                  .revents = 0};
    if (::poll(&waited, 1, -1) < 0 && errno != EINTR) fail("waiting");
    if ((waited.revents & POLLIN) != 0) {
      const auto got = ::recv(connection, received.data() + in,
                              std::min(block_bytes, received.size() - in), MSG_DONTWAIT);
      if (got == 0 || (got < 0 && errno != EAGAIN)) fail("receiving");
      if (got > 0) in += static_cast<std::size_t>(got);
    }
    if ((waited.revents & POLLOUT) != 0) {
      const auto gone =
          ::send(connection, sent.data() + out, std::min(block_bytes, sent.size() - out),
                 MSG_DONTWAIT | MSG_NOSIGNAL);
      if (gone < 0 && errno != EAGAIN) fail("sending");
      if (gone > 0) out += static_cast<std::size_t>(gone);
    }
  }
}

}  // namespace

int main(int count, char** words) {
  const bool listens = count == 5 && std::string_view(words[1]) == "listen";
  if (!listens && (count != 6 || std::string_view(words[1]) != "call")) {
    std::fprintf(stderr,
                 "bench_socket_pair listen PORT BYTES ROUNDS | call HOST PORT BYTES ROUNDS\n");
    return 2;
  }
  const char* const* rest = words + (listens ? 2 : 3);
  const int connection = meet(listens, listens ? nullptr : words[2], rest[0]);
  const int on = 1;
  (void)::setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const auto bytes = static_cast<std::size_t>(std::strtoull(rest[1], nullptr, 10));
  const std::vector<char> sent(bytes, 'x');
  std::vector<char> received(bytes);
  exchange(connection, sent, received);
  const auto begin = std::chrono::steady_clock::now();
  const auto cpu = cpu_seconds();
  for (int round = std::atoi(rest[2]); round > 0; --round) exchange(connection, sent, received);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  std::printf("{\"seconds\": %.6f, \"cpu_seconds\": %.6f}\n", taken.count(),
              cpu_seconds() - cpu);
  return 0;
}
