#include "launch/text/endpoint.hpp"

#include <gtest/gtest.h>

namespace tidegate::launch {
namespace {

TEST(endpoint, has_a_port_or_the_default_one) {
  EXPECT_EQ(parse_endpoint("a", 7)->port, 7);
  EXPECT_EQ(parse_endpoint("[::1]", 7)->port, 7);
  EXPECT_EQ(parse_endpoint("[::1]:9", 7)->port, 9);
  EXPECT_EQ(parse_endpoint("[::1]:9", std::nullopt)->host, "::1");
  for (const auto* text : {"a", "[::1]", "::0", "::1:80"})
    EXPECT_FALSE(parse_endpoint(text, std::nullopt)) << text;
}

TEST(endpoint, is_an_address_or_a_name) {
  for (const auto* host : {"127.0.0.1", "127.9.9.9", "::1"}) EXPECT_TRUE(is_loopback(host));
  for (const auto* host : {"10.0.0.1", "127.0.0.1.example.org", "localhost", "::2"})
    EXPECT_FALSE(is_loopback(host)) << host;
  EXPECT_TRUE(is_address("fd00::1"));
  EXPECT_FALSE(is_address("localhost"));
}

}  // namespace
}  // namespace tidegate::launch
