#include "launch/door/sockets.hpp"

#include <poll.h>

#include <gmock/gmock.h>

#include "runtime/sockets/tcp_socket.hpp"

namespace tidegate::launch {
namespace {

TEST(sockets, places_have_hosts_and_ports) {
  for (const auto& [text, host, port] :
       {std::tuple("green", "green", 7077), std::tuple("green:7", "green", 7),
        std::tuple("10.0.0.1:65535", "10.0.0.1", 65535),
        std::tuple("[fd00::1]:80", "fd00::1", 80), std::tuple("[fd00::1]", "fd00::1", 7077),
        std::tuple("fd00::1", "fd00::1", 7077)}) {
    const auto place = parse_place(text);
    ASSERT_TRUE(place) << text;
    EXPECT_EQ(place->host, host);
    EXPECT_EQ(place->port, port);
  }
  for (const auto* text :
       {"", ":7", "green:", "green:65536", "green:x", "[fd00::1", "[::1]x", "[::1]:", "[]:7"})
    EXPECT_FALSE(parse_place(text)) << text;
  EXPECT_EQ(to_string({.host = "fd00::1", .port = 80}), "[fd00::1]:80");
}

TEST(sockets, meet) {
  const auto listener = runtime::listen_on("127.0.0.1", 0);
  ASSERT_TRUE(listener) << listener.error().message();
  std::string peer;
  EXPECT_FALSE(accept_from(listener->get(), peer)) << "nobody has come";
  const auto place = place_of(listener->get());
  EXPECT_NE(place.port, 0);
  const auto there = connect_to(place, 1000);
  ASSERT_TRUE(there) << there.error().message();
  pollfd waited{.fd = listener->get(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(::poll(&waited, 1, 10'000), 1);
  EXPECT_TRUE(accept_from(listener->get(), peer));
  EXPECT_EQ(peer, to_string(place_of(there->get())));
  EXPECT_EQ(runtime::listen_on(place.host, place.port).error().code(),
            runtime::errc::already_exists)
      << "it is in use";
}

TEST(sockets, say_where_nobody_listens) {
  const auto unused = place_of(runtime::listen_on("127.0.0.1", 0)->get());
  EXPECT_THAT(connect_to(unused, 1000).error().message(),
              testing::HasSubstr(to_string(unused) + ": Connection refused"));
  EXPECT_THAT(connect_to({.host = "no.such.name.invalid", .port = 1}, 1000).error().message(),
              testing::HasSubstr("no.such.name.invalid"));
}

}  // namespace
}  // namespace tidegate::launch
