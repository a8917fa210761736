// All connections between two processes end, also of a process that closes the others when the
// first of them ends.
#include "launch/chaos/connections.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/sockets/tcp_socket.hpp"

namespace tidegate::chaos {
namespace {

using runtime::unique_fd;

constexpr std::size_t connections = 64;
constexpr std::uint32_t patience_ms = 10'000;

// Returns how it went, as an exit status.
int connect_and_leave_together(std::uint16_t port) {
  std::vector<unique_fd> own;
  std::vector<pollfd> waited;
  const auto address = runtime::resolve("127.0.0.1", port);
  if (!address) return 1;
  for (std::size_t i = 0; i < connections; ++i) {
    auto connected = runtime::connect_to(**address, patience_ms);
    if (!connected) return 2;
    waited.push_back({.fd = connected->get(), .events = POLLIN, .revents = 0});
    own.push_back(std::move(*connected));
  }
  if (::poll(waited.data(), waited.size(), patience_ms) <= 0) return 3;
  own.clear();
  return 0;
}

TEST(cut_connections, ends_all_of_a_process_that_closes_them_at_the_first_end) {
  const auto listener = runtime::listen_on("127.0.0.1", 0);
  ASSERT_TRUE(listener) << listener.error().message();
  const auto child = ::fork();
  if (child == 0) ::_exit(connect_and_leave_together(runtime::port_of(listener->get())));
  std::vector<unique_fd> accepted;
  while (accepted.size() < connections) {
    ASSERT_TRUE(runtime::is_ready(listener->get(), POLLIN, patience_ms));
    accepted.emplace_back(::accept4(listener->get(), nullptr, nullptr, SOCK_CLOEXEC));
    ASSERT_TRUE(accepted.back());
  }
  const auto cut = cut_connections(child, ::getpid());
  ASSERT_TRUE(cut) << cut.error().message();
  EXPECT_EQ(*cut, connections);
  for (const auto& connection : accepted)
    EXPECT_TRUE(runtime::is_ready(connection.get(), POLLIN, patience_ms));
  int ended = 0;
  ASSERT_EQ(::waitpid(child, &ended, 0), child);
  EXPECT_EQ(ended, 0);
}

}  // namespace
}  // namespace tidegate::chaos
