// Both ends of a channel in one thread, over a pair of sockets.
#include "runtime/sockets/tls_channel.hpp"

#include <array>
#include <csignal>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gmock/gmock.h>

namespace tidegate::runtime {
namespace {

digest key(char last) {
  digest drawn{};
  drawn.back() = static_cast<std::byte>(last);
  return drawn;
}

class channels : public testing::Test {
 protected:
  channels() { std::signal(SIGPIPE, SIG_IGN); }  // as doors and relays do
  void connect(const digest& clients, const digest& servers) {
    const auto ends = sockets();
    auto near = tls_channel::begin(unique_fd(ends[0]), tls_side::client, clients);
    auto far = tls_channel::begin(unique_fd(ends[1]), tls_side::server, servers);
    ASSERT_TRUE(near && far);
    client.emplace(std::move(*near));
    server.emplace(std::move(*far));
  }
  static std::array<int, 2> sockets() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
    return ends;
  }
  // Until neither has anything to do.
  void settle() {
    for (int turns = 0; turns < 100; ++turns) {
      if (of_client.ok()) of_client = client->advance();
      if (of_server.ok()) of_server = server->advance();
    }
  }

  std::optional<tls_channel> client, server;
  status of_client, of_server;
};

TEST_F(channels, carry_bytes_both_ways_once_the_key_is_proven) {
  connect(key('1'), key('1'));
  client->send("what is sent before waits");
  EXPECT_FALSE(client->is_proven());
  settle();
  EXPECT_TRUE(client->is_proven() && server->is_proven())
      << of_client.message() << ", " << of_server.message();
  EXPECT_EQ(server->received(), "what is sent before waits");
  server->send("an answer");
  settle();
  EXPECT_EQ(client->received(), "an answer");
  client.reset();
  of_server = server->advance();
  EXPECT_EQ(of_server.code(), errc::unavailable) << "its connection has ended";
}

TEST_F(channels, refuse_another_key) {
  connect(key('1'), key('2'));
  client->send("secret");
  settle();
  EXPECT_EQ(of_server.code(), errc::refused);
  EXPECT_EQ(of_client.code(), errc::refused);
  EXPECT_FALSE(client->is_proven() || server->is_proven());
  EXPECT_EQ(server->received(), "");
}

TEST_F(channels, refuse_what_is_no_handshake) {
  for (const std::string& said :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(5000, '\0'),
        std::string("\x16\x03\x01\x00\x05hello", 10)}) {
    connect(key('1'), key('1'));
    const auto ends = sockets();
    auto far = tls_channel::begin(unique_fd(ends[1]), tls_side::server, key('1'));
    ASSERT_EQ(::write(ends[0], said.data(), said.size()), static_cast<ssize_t>(said.size()));
    ::shutdown(ends[0], SHUT_WR);
    status result;
    for (int turns = 0; turns < 10 && result.ok(); ++turns) result = far->advance();
    EXPECT_EQ(result.code(), errc::refused);
    EXPECT_FALSE(far->is_proven());
    ::close(ends[0]);
  }
}

// Nothing but the length is on the wire as it was said.
TEST_F(channels, hide_what_they_carry) {
  const auto near = sockets();
  const auto far = sockets();
  auto client_end = tls_channel::begin(unique_fd(near[0]), tls_side::client, key('1'));
  auto server_end = tls_channel::begin(unique_fd(far[0]), tls_side::server, key('1'));
  const std::string secret = "the token of the run is 17";
  client_end->send(secret);
  std::string wire;
  const auto carry = [&](int from, int to) {
    std::array<char, 4096> bytes{};
    const auto got = ::read(from, bytes.data(), bytes.size());
    if (got <= 0) return;
    wire.append(bytes.data(), static_cast<std::size_t>(got));
    EXPECT_EQ(::write(to, bytes.data(), static_cast<std::size_t>(got)), got);
  };
  for (int turns = 0; turns < 50; ++turns) {
    EXPECT_TRUE(client_end->advance().ok() && server_end->advance().ok());
    carry(near[1], far[1]);
    carry(far[1], near[1]);
  }
  EXPECT_EQ(server_end->received(), secret);
  EXPECT_EQ(wire.find("token"), std::string::npos);
  ::close(near[1]);
  ::close(far[1]);
}

TEST_F(channels, keep_no_more_than_a_limit_of_what_nobody_takes) {
  connect(key('1'), key('1'));
  const std::string bytes(4 * tls_channel::received_bytes_max, 'x');
  client->send(bytes);
  settle();
  EXPECT_GE(server->received().size(), tls_channel::received_bytes_max);
  EXPECT_LT(server->received().size(), 2 * tls_channel::received_bytes_max);
  EXPECT_EQ(server->awaits() & POLLIN, 0);
  EXPECT_GT(client->unsent_bytes(), 0U);
  std::size_t got = 0;
  for (int turns = 0; turns < 10'000 && got < bytes.size(); ++turns) {
    got += server->received().size();
    server->received().clear();
    EXPECT_TRUE(client->advance().ok() && server->advance().ok());
  }
  EXPECT_EQ(got, bytes.size());
  EXPECT_EQ(client->unsent_bytes(), 0U);
}

}  // namespace
}  // namespace tidegate::runtime
