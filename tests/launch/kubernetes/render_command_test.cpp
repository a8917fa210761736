#include "launch/kubernetes/render_command.hpp"

#include <gmock/gmock.h>

namespace tidegate::launch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

std::string why(const std::vector<std::string>& args) {
  const auto command = parse_render_command(args);
  return command ? "" : command.error().message();
}

TEST(render_command, has_options_of_kubernetes) {
  const auto command = parse_render_command(
      {"render", "kubernetes", "c.yaml",      "--image",     "i",  "--nodes",
       "4",      "--claim",    "runs",        "--volume",    "/v", "--resource",
       "cpu=8",  "--resource", "memory=32Gi", "--namespace", "n",  "--key-secret",
       "k",      "--set",      "a=b"});
  ASSERT_TRUE(command) << command.error().message();
  EXPECT_EQ(command->file, "c.yaml");
  EXPECT_EQ(command->nodes, 4U);
  EXPECT_THAT(command->sets, ElementsAre("a=b"));
  EXPECT_EQ(command->kubernetes.volume, "/v");
  EXPECT_EQ(command->kubernetes.key_secret, "k");
  EXPECT_THAT(command->kubernetes.resources,
              ElementsAre(Pair("cpu", "8"), Pair("memory", "32Gi")));
}

TEST(render_command, says_what_is_wrong) {
  EXPECT_TRUE(is_render_command({"help", "render"}));
  EXPECT_FALSE(is_render_command({"launch"}));
  EXPECT_THAT(why({"render"}), HasSubstr("allowed: tidegate render kubernetes FILE"));
  EXPECT_THAT(why({"render", "nomad", "c.yaml"}), HasSubstr("render kubernetes FILE"));
  EXPECT_THAT(why({"render", "kubernetes", "c.yaml", "--resource", "=1"}),
              HasSubstr("NAME=AMOUNT"));
  EXPECT_THAT(why({"render", "kubernetes", "c.yaml", "--nodes", "x"}),
              HasSubstr("allowed: 1 to"));
  EXPECT_THAT(why({"render", "kubernetes", "c.yaml", "--pods", "3"}), HasSubstr("pods"));
  EXPECT_TRUE(parse_render_command({"render", "--help"})->help);
}

}  // namespace
}  // namespace tidegate::launch
