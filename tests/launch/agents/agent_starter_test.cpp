#include "launch/agents/agent_starter.hpp"

#include <gmock/gmock.h>

namespace tidegate::launch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

policies::cluster_spec spec_of(const policies::host_spec& host) {
  policies::cluster_spec spec;
  spec.hosts = {host};
  spec.start_timeout_ms = 7'000;
  spec.supervision.unreachable_ms = 8'000;
  return spec;
}

TEST(agent_starter, runs_the_program_behind_the_prefix) {
  const policies::host_spec host{
      .name = "b", .address = "10.0.0.2", .prefix = {"env", "BLUE=1"}};
  const auto starter = agent_starter::create(spec_of(host), {{"PATH", "/usr/bin:/bin"}});
  ASSERT_TRUE(starter) << starter.error().message();
  const auto request = starter->request(host, "/tmp/log", 5);
  EXPECT_THAT(request.program, HasSubstr("/env"));
  EXPECT_THAT(request.arguments,
              ElementsAre("env", "BLUE=1", HasSubstr("launch_agents_test"), "host"));
  EXPECT_EQ(request.input, 5);
}

TEST(agent_starter, has_ssh_ask_nobody_and_end_with_the_host) {
  const policies::host_spec host{.name = "b",
                                 .address = "10.0.0.2",
                                 .prefix = {},
                                 .ssh = "me@b",
                                 .ssh_port = 2222,
                                 .ssh_key = "/k",
                                 .program = "/opt/it's here/tidegate"};
  const auto starter = agent_starter::create(spec_of(host), {{"PATH", "/usr/bin:/bin"}});
  ASSERT_TRUE(starter) << starter.error().message();
  const auto request = starter->request(host, "/tmp/log", 5);
  EXPECT_THAT(request.program, HasSubstr("/ssh"));
  EXPECT_THAT(request.arguments,
              ElementsAre("ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=7", "-o",
                          "ServerAliveInterval=2", "-o", "ServerAliveCountMax=3", "-p", "2222",
                          "-i", "/k", "-o", "IdentitiesOnly=yes", "--", "me@b",
                          "exec '/opt/it'\\''s here/tidegate' host"));
}

TEST(agent_starter, names_what_is_not_there) {
  const auto missing = agent_starter::create(
      spec_of({.name = "b", .address = "10.0.0.2", .prefix = {"no_such_program"}}), {});
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message(), HasSubstr("cluster.hosts.b.prefix: "));
  const auto no_ssh = agent_starter::create(
      spec_of({.name = "b", .address = "b", .prefix = {}, .ssh = "b"}), {{"PATH", "/nowhere"}});
  ASSERT_FALSE(no_ssh);
  EXPECT_THAT(no_ssh.error().message(), HasSubstr("cluster.hosts.b.ssh: "));
}

}  // namespace
}  // namespace tidegate::launch
