#include "launch/agents/agent_config.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace tidegate::launch {
namespace {

agent_config sample() {
  return {.host = "blue",
          .start = 77,
          .launcher_host = "10.0.0.1",
          .launcher_port = 4711,
          .token = 0xfeedfacecafebeef,
          .run_dir = "/runs/a b",
          .folder = "/home/me",
          .workers_port = 12,
          .cluster = "cluster: {name: \"x\"}\n",
          .variables = {{"UCX_NET_DEVICES", "eth0"}},
          .instructions = "x86_64 avx",
          .staged = {{.path = "/home/me/run", .bytes = 3, .mode = 0755, .sha256 = "ba78"}},
          .run = "00c0ffee00c0ffee"};
}

TEST(agent_config, is_a_line_that_is_read_as_it_was_written) {
  const auto text = config_text(sample());
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  const auto read = parse_config(text);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, sample());
}

TEST(agent_config, of_another_version_says_what_to_do) {
  auto other = nlohmann::json::parse(config_text(sample()));
  other["protocol"] = "250";
  other.erase("token");  // what else it says may be anything
  const auto read = parse_config(other.dump());
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code(), runtime::errc::invalid_argument);
  EXPECT_THAT(read.error().message(),
              testing::HasSubstr("install the launcher's Tidegate on this host"));
}

TEST(agent_config, is_nothing_else) {
  for (const auto* text : {"", "{", "{}", "[]", R"({"protocol": 1})"}) {
    const auto read = parse_config(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code(), runtime::errc::corrupt) << text;
  }
  auto lacks = nlohmann::json::parse(config_text(sample()));
  lacks["token"] = "not one";
  EXPECT_FALSE(parse_config(lacks.dump()));
}

}  // namespace
}  // namespace tidegate::launch
