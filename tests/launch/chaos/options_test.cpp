// The command line of `tidegate chaos`.
#include "launch/chaos/options.hpp"

#include <signal.h>

#include <gmock/gmock.h>

namespace tidegate::chaos {
namespace {

using policies::process_role;
using testing::HasSubstr;
using words = std::vector<std::string>;

std::string reply_code_of(const words& args) {
  const auto options = parse_chaos(args);
  if (options) return "accepted";
  EXPECT_EQ(options.error().code(), runtime::errc::invalid_argument);
  return options.error().message();
}

TEST(chaos_options, one_process) {
  const auto kill = parse_chaos({"runs/x", "kill", "worker-mlp-1"});
  ASSERT_TRUE(kill) << kill.error().message();
  EXPECT_EQ(kill->verb, verb::kill);
  EXPECT_EQ(kill->run_dir, "runs/x");
  EXPECT_EQ(kill->process, "worker-mlp-1");
  EXPECT_EQ(kill->signal, SIGKILL);
  EXPECT_EQ(parse_chaos({"runs/x", "stop", "shard-0"})->signal, SIGSTOP);
  EXPECT_EQ(parse_chaos({"runs/x", "continue", "shard-0"})->signal, SIGCONT);
  for (const auto* name : {"TERM", "SIGTERM"})
    EXPECT_EQ(parse_chaos({"r", "kill", "shard-0", "--signal", name})->signal, SIGTERM);
}

TEST(chaos_options, one_of_a_role) {
  const auto options = parse_chaos({"r", "kill", "role:shard", "--seed=7"});
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->process, "");
  EXPECT_EQ(options->role, process_role::shard);
  EXPECT_EQ(options->plan.seed, 7U);
}

TEST(chaos_options, random) {
  const auto options = parse_chaos({"r", "random", "--seed", "3", "--every", "20ms..2s",
                                    "--roles", "worker,shard", "--count", "9", "--for", "30s",
                                    "--actions", "kill,stop:300ms,partition:1s,fill:2s"});
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->verb, verb::random);
  EXPECT_EQ(options->plan.seed, 3U);
  EXPECT_EQ(options->plan.pause_first_ms, 20U);
  EXPECT_EQ(options->plan.pause_last_ms, 2000U);
  EXPECT_THAT(options->plan.roles,
              testing::ElementsAre(process_role::worker, process_role::shard));
  EXPECT_EQ(options->plan.hits_max, 9U);
  EXPECT_EQ(options->plan.for_ms, 30'000U);
  ASSERT_EQ(options->plan.actions.size(), 4U);
  EXPECT_TRUE(options->plan.actions[0].act == policies::chaos_act::kill);
  EXPECT_EQ(options->plan.actions[1], (policies::chaos_choice{policies::chaos_act::stop, 300}));
  EXPECT_EQ(parse_chaos({"r", "random", "--every", "50ms"})->plan.pause_first_ms, 50U);
}

TEST(chaos_options, help) {
  EXPECT_EQ(parse_chaos({"--help"})->verb, verb::help);
  EXPECT_EQ(parse_chaos({"r", "kill", "-h"})->verb, verb::help);
  EXPECT_THAT(chaos_help(), HasSubstr("--actions"));
}

TEST(chaos_options, says_what_is_allowed) {
  EXPECT_THAT(reply_code_of({}), HasSubstr("RUN_DIR kill|stop|continue|random"));
  EXPECT_THAT(reply_code_of({"r", "kil", "x"}), HasSubstr("did you mean 'kill'?"));
  EXPECT_THAT(reply_code_of({"r", "kill"}), HasSubstr("kill whom?"));
  EXPECT_THAT(reply_code_of({"r", "kill", "a", "b"}), HasSubstr("'b' is one word too many"));
  EXPECT_THAT(reply_code_of({"r", "random", "a"}), HasSubstr("'a' is one word too many"));
  EXPECT_THAT(reply_code_of({"r", "kill", "role:wroker"}), HasSubstr("did you mean 'worker'?"));
  EXPECT_THAT(reply_code_of({"r", "kill", "a", "--signal", "SIGKIL"}),
              HasSubstr("did you mean 'KILL'?"));
  EXPECT_THAT(reply_code_of({"r", "stop", "a", "--signal", "TERM"}),
              HasSubstr("--signal is not for stop; allowed: --seed"));
  EXPECT_THAT(reply_code_of({"r", "kill", "a", "--count", "2"}), HasSubstr("not for kill"));
  EXPECT_THAT(reply_code_of({"r", "random", "--rolse", "worker"}),
              HasSubstr("did you mean '--roles'?"));
  for (const auto* every : {"2s..200ms", "5", "..", "0..0", "x", ""})
    EXPECT_THAT(reply_code_of({"r", "random", "--every", every}), HasSubstr("as 200ms..2s"));
  for (const auto* actions :
       {"stop", "kill:1s", "stop:5", "", "kill,,kill", "partition", "heal", "fill"})
    EXPECT_THAT(reply_code_of({"r", "random", "--actions", actions}), HasSubstr("stop:300ms"));
  EXPECT_THAT(reply_code_of({"r", "random", "--count", "0"}), HasSubstr("1 to 1000000"));
  EXPECT_THAT(reply_code_of({"r", "random", "--for", "0"}), HasSubstr("1ms to a day"));
  EXPECT_THAT(reply_code_of({"r", "random", "--roles", ""}), HasSubstr("--roles"));
  EXPECT_THAT(reply_code_of({"r", "random", "--seed", "-1"}), HasSubstr("--seed"));
}

}  // namespace
}  // namespace tidegate::chaos
