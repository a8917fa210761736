#include "runtime/streams/stream_address.hpp"

#include <gtest/gtest.h>

namespace tidegate::runtime {
namespace {

TEST(stream_address, comes_back_from_its_text) {
  const std::vector<std::vector<std::string>> all{
      {"10.0.0.1"}, {"fd00::1"}, {"::1"}, {"10.0.0.1", "fd00::1", "10.1.0.1"}};
  for (const auto& hosts : all) {
    const stream_address address{.link = 0xfedc'ba98'7654'3210, .port = 65'535, .hosts = hosts};
    const auto parsed = parse_stream_address(to_string(address));
    ASSERT_TRUE(parsed) << to_string(address);
    EXPECT_EQ(*parsed, address);
  }
}

TEST(stream_address, refuses_what_is_none) {
  for (const auto* text :
       {"", "stream:", "stream:0000000000000001", "stream:0000000000000001:7",
        "stream:0000000000000001:7:", "stream:0000000000000001:7:10.0.0.1,",
        "stream:0000000000000001:7:,10.0.0.1", "stream:0000000000000000:7:10.0.0.1",
        "stream:0000000000000001:0:10.0.0.1", "stream:0000000000000001:65536:10.0.0.1",
        "stream:000000000000000g:7:10.0.0.1", "stream:1:7:10.0.0.1",
        "loopback:0000000000000001:7:10.0.0.1"})
    EXPECT_FALSE(parse_stream_address(text)) << text;
}

}  // namespace
}  // namespace tidegate::runtime
