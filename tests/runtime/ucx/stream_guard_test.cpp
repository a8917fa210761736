// Real connections of UCX's over TCP, and another of this process beside them.
#include "runtime/ucx/stream_guard.hpp"

#include <algorithm>
#include <chrono>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/unique_fd.hpp"
#include "runtime/ucx/ucx_link.hpp"
#include "tests/support/link_recorder.hpp"

namespace tidegate::runtime {
namespace {

constexpr std::uint32_t silent_ms = 4321;

int option(int fd, int name) {
  int value = -1;
  socklen_t length = sizeof value;
  return ::getsockopt(fd, IPPROTO_TCP, name, &value, &length) == 0 ? value : -1;
}

// Ends of connections of this process, and how many of them are kept alive and have the limit.
struct ends {
  int all = 0;
  int limited = 0;
};

ends ends_limited_to(std::uint32_t limit_ms) {
  ends found;
  for (int fd = 0; fd < 1024; ++fd) {
    tcp_info state{};
    socklen_t length = sizeof state;
    if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &state, &length) != 0 ||
        state.tcpi_state != TCP_ESTABLISHED)
      continue;
    int keeps_alive = 0;
    length = sizeof keeps_alive;
    ::getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &keeps_alive, &length);
    ++found.all;
    found.limited +=
        keeps_alive != 0 && option(fd, TCP_USER_TIMEOUT) == static_cast<int>(limit_ms);
  }
  return found;
}

unique_fd tcp_socket(bool keeps_alive, int idle_s) {
  unique_fd descriptor(::socket(AF_INET, SOCK_STREAM, 0));
  const int on = keeps_alive ? 1 : 0;
  ::setsockopt(descriptor.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(descriptor.get(), IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
  return descriptor;
}

TEST(stream_guard, both_ends_of_a_connection_of_ucx_are_limited_and_no_other_socket) {
  ucx_options options;
  options.address = "127.0.0.1";
  options.silent_ms = silent_ms;
  auto a = open_ucx_link(options);
  auto b = open_ucx_link(options);
  ASSERT_TRUE(a) << a.error().message();
  ASSERT_TRUE(b) << b.error().message();
  tests::recorder at_a;
  tests::recorder at_b;
  (*a)->set_sink(&at_a);
  (*b)->set_sink(&at_b);
  const std::vector<std::byte> payload(64);
  const auto of_the_user = tcp_socket(true, keepalive_within(silent_ms).idle_s);
  const auto to_b = (*a)->connect((*b)->address());
  ASSERT_TRUE(to_b && (*b)->connect((*a)->address()));
  (*a)->post(*to_b, tests::push_header(payload.size(), 0), payload, 1);
  // The guard's thread sees new sockets within half a second.
  ASSERT_TRUE(tests::until(**a, **b, [&] {
    limit_streams(keepalive_within(silent_ms), silent_ms);
    const auto ends = ends_limited_to(silent_ms);
    return !at_b.arrivals.empty() && ends.all >= 2 && ends.limited == ends.all;
  }));
  EXPECT_EQ(option(of_the_user.get(), TCP_USER_TIMEOUT), 0);
  EXPECT_EQ(limit_streams(keepalive_within(silent_ms), silent_ms), 0) << "once";
}

TEST(stream_guard, its_thread_limits_what_is_there) {
  const auto marks = keepalive_within(silent_ms);
  auto marked = tcp_socket(true, marks.idle_s);
  ::setsockopt(marked.get(), IPPROTO_TCP, TCP_KEEPINTVL, &marks.pause_s, sizeof marks.pause_s);
  ::setsockopt(marked.get(), IPPROTO_TCP, TCP_KEEPCNT, &marks.probes, sizeof marks.probes);
  const stream_guard guard(silent_ms);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (option(marked.get(), TCP_USER_TIMEOUT) != static_cast<int>(silent_ms) &&
         std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  EXPECT_EQ(option(marked.get(), TCP_USER_TIMEOUT), static_cast<int>(silent_ms));
}

}  // namespace
}  // namespace tidegate::runtime
