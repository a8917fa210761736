// Users of plain sockets at both ends of a connection under TLS.
#include "runtime/sockets/tls_tunnels.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <memory>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "runtime/sockets/tcp_socket.hpp"

namespace tidegate::runtime {
namespace {

digest some_key(int first) {
  digest key{};
  key[0] = static_cast<std::byte>(first);
  return key;
}

class tunnels : public testing::Test {
 protected:
  // Two users, connected through two tunnels.
  void connect(const digest& near_key, const digest& far_key) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
    auto client = tls_channel::begin(unique_fd(ends[0]), tls_side::client, near_key);
    auto server = tls_channel::begin(unique_fd(ends[1]), tls_side::server, far_key);
    ASSERT_TRUE(client && server);
    near = std::move(*all->add(std::move(*client), "the server"));
    far = std::move(*others->add(std::move(*server), "the client"));
  }
  static void write(int to, const std::string& bytes) {
    for (std::size_t sent = 0; sent < bytes.size();) {
      ASSERT_TRUE(is_ready(to, POLLOUT, 10'000));
      const auto more = ::send(to, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      ASSERT_GT(more, 0);
      sent += static_cast<std::size_t>(more);
    }
  }
  // Reads so many bytes, or up to the end.
  static std::string read(int from, std::size_t bytes) {
    std::string all;
    std::array<char, 65'536> some{};
    while (all.size() < bytes && is_ready(from, POLLIN, 10'000)) {
      const auto got = ::recv(from, some.data(), std::min(some.size(), bytes - all.size()), 0);
      if (got <= 0) break;
      all.append(some.data(), static_cast<std::size_t>(got));
    }
    return all;
  }

  std::unique_ptr<tls_tunnels> all = std::make_unique<tls_tunnels>();
  std::unique_ptr<tls_tunnels> others = std::make_unique<tls_tunnels>();  // of another process
  unique_fd near, far;
};

TEST_F(tunnels, carry_what_users_write_both_ways) {
  connect(some_key(1), some_key(1));
  write(near.get(), "a question");
  EXPECT_EQ(read(far.get(), 10), "a question");
  write(far.get(), "an answer");
  EXPECT_EQ(read(near.get(), 9), "an answer");
}

TEST_F(tunnels, carry_more_than_fits_anywhere) {
  connect(some_key(1), some_key(1));
  std::string much(24U << 20U, ' ');
  for (std::size_t i = 0; i < much.size(); ++i) much[i] = static_cast<char>(i * 31 + i / 4096);
  std::string read_back;
  std::thread reader([&] { read_back = read(far.get(), much.size()); });
  write(near.get(), much);
  reader.join();
  EXPECT_TRUE(read_back == much);
}

TEST_F(tunnels, tell_the_end_after_all_that_was_written) {
  connect(some_key(1), some_key(1));
  const std::string last(300'000, 'x');
  write(near.get(), last);
  near.reset();
  EXPECT_EQ(read(far.get(), last.size() + 1), last) << "and then the end";
}

TEST_F(tunnels, end_in_a_forked_process_without_their_thread) {
  connect(some_key(1), some_key(1));
  const pid_t child = ::fork();
  if (child == 0) {
    all.reset();
    ::_exit(0);
  }
  int status = -1;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (::waitpid(child, &status, WNOHANG) == 0 && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(status, 0) << "it waits for a thread that is not there";
  ::kill(child, SIGKILL);
  write(near.get(), "goes on");
  EXPECT_EQ(read(far.get(), 7), "goes on");
}

TEST_F(tunnels, end_when_the_peer_has_another_key) {
  connect(some_key(1), some_key(2));
  write(near.get(), "secret");
  EXPECT_EQ(read(far.get(), 1), "");
  EXPECT_EQ(read(near.get(), 1), "");
}

TEST_F(tunnels, send_what_was_written_before_they_end) {
  connect(some_key(1), some_key(1));
  // More than a tunnel reads at once, and less than the pair of sockets has room for.
  const std::string last(150'000, 'x');
  write(near.get(), last);
  all.reset();
  EXPECT_EQ(read(far.get(), last.size() + 1), last);
}

}  // namespace
}  // namespace tidegate::runtime
