#include "launch/door/door_command.hpp"

#include <gmock/gmock.h>

namespace tidegate::launch {
namespace {

using testing::HasSubstr;

std::string why(const std::vector<std::string>& args) {
  const auto command = parse_door_command(args);
  return command ? "" : command.error().message();
}

TEST(door_command, knows_its_words) {
  EXPECT_TRUE(is_door_command({"door", "--listen", "x"}));
  EXPECT_TRUE(is_door_command({"help", "relay"}));
  EXPECT_FALSE(is_door_command({"launch", "door"}));
  EXPECT_FALSE(is_door_command({}));
}

TEST(door_command, of_a_door) {
  const auto command =
      parse_door_command({"door", "--key-file", "/k", "--listen", "10.0.0.1:9"});
  ASSERT_TRUE(command);
  const auto& door = std::get<door_options>(*command);
  EXPECT_EQ(door.key_file, "/k");
  EXPECT_EQ(door.listen, "10.0.0.1:9");
}

TEST(door_command, of_a_relay_as_a_launcher_calls_it) {
  const auto command = parse_door_command(
      {"relay", "--key-file", "/k", "--wait", "2m", "green:7", "/usr/bin/tidegate", "host"});
  ASSERT_TRUE(command);
  const auto& relay = std::get<relay_options>(*command);
  EXPECT_EQ(relay.door, "green:7");
  EXPECT_EQ(relay.wait_ms, 120'000);
}

TEST(door_command, says_what_is_wrong) {
  EXPECT_THAT(why({"door"}), HasSubstr("--key-file FILE is missing"));
  EXPECT_THAT(why({"door", "--key-file", "k", "x"}), HasSubstr("'x' is one word too many"));
  EXPECT_THAT(why({"door", "--key-file", "k", "--wait", "1s"}), HasSubstr("wait"));
  EXPECT_THAT(why({"relay", "--key-file", "k"}), HasSubstr("allowed: tidegate relay"));
  EXPECT_THAT(why({"relay", "--key-file", "k", "a", "b", "c"}), HasSubstr("allowed"));
  EXPECT_THAT(why({"relay", "--key-file", "k", "--wait", "soon", "a"}),
              HasSubstr("a duration as 500ms"));
  EXPECT_TRUE(std::holds_alternative<door_help>(*parse_door_command({"door", "--help"})));
}

}  // namespace
}  // namespace tidegate::launch
