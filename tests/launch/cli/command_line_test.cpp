#include "launch/cli/command_line.hpp"

#include <gmock/gmock.h>

namespace tidegate::launch {
namespace {

using testing::HasSubstr;
using words = std::vector<std::string>;

std::string reply_code_of(const words& args) {
  const auto line = parse_command_line(args);
  if (line) return "accepted";
  EXPECT_EQ(line.error().code(), runtime::errc::invalid_argument);
  return line.error().message();
}

TEST(command_line, validate) {
  const auto line = parse_command_line({"validate", "f.yaml", "--set", "a=1", "--set=b=2"});
  ASSERT_TRUE(line) << line.error().message();
  EXPECT_EQ(line->kind, command_kind::validate);
  EXPECT_EQ(line->file, "f.yaml");
  EXPECT_THAT(line->sets, testing::ElementsAre("a=1", "b=2"));
}

TEST(command_line, set_takes_one_value_and_the_file_may_follow) {
  const auto line = parse_command_line({"plan", "--set", "a=[1, 2]", "f.yaml", "--json"});
  ASSERT_TRUE(line) << line.error().message();
  EXPECT_EQ(line->kind, command_kind::plan);
  EXPECT_EQ(line->file, "f.yaml");
  EXPECT_TRUE(line->json);
  EXPECT_THAT(line->sets, testing::ElementsAre("a=[1, 2]"));
}

TEST(command_line, launch) {
  const auto line = parse_command_line({"launch", "f.yaml", "--run-dir", "out"});
  ASSERT_TRUE(line) << line.error().message();
  EXPECT_EQ(line->kind, command_kind::launch);
  EXPECT_EQ(line->run_dir, "out");
}

TEST(command_line, resume_takes_nothing_else) {
  const auto line = parse_command_line({"launch", "--resume", "runs/x"});
  ASSERT_TRUE(line) << line.error().message();
  EXPECT_EQ(line->kind, command_kind::launch);
  EXPECT_EQ(line->resume, "runs/x");
  for (const words& more :
       {words{"f.yaml"}, words{"--set", "a=1"}, words{"--run-dir", "d"}, words{"--continue"}}) {
    words all{"launch", "--resume", "runs/x"};
    all.insert(all.end(), more.begin(), more.end());
    EXPECT_THAT(reply_code_of(all), HasSubstr("and nothing else"));
  }
}

TEST(command_line, continue_takes_a_file) {
  const auto line = parse_command_line({"launch", "f.yaml", "--continue", "--run-dir", "d"});
  ASSERT_TRUE(line) << line.error().message();
  EXPECT_TRUE(line->goes_on);
  EXPECT_EQ(line->file, "f.yaml");
  EXPECT_FALSE(parse_command_line({"launch", "f.yaml"})->goes_on);
  EXPECT_THAT(reply_code_of({"launch", "--continue"}), HasSubstr("no cluster file is given"));
}

TEST(command_line, submit) {
  const auto line =
      parse_command_line({"submit", "--slurm", "f.yaml", "--nodes", "3", "--time=1:00",
                          "--sbatch=--partition=gpu", "--sbatch=--mem=1G", "--dry-run"});
  ASSERT_TRUE(line) << line.error().message();
  EXPECT_EQ(line->kind, command_kind::submit);
  EXPECT_EQ(line->file, "f.yaml");
  EXPECT_EQ(line->nodes, 3U);
  EXPECT_EQ(line->time, "1:00");
  EXPECT_THAT(line->sbatch, testing::ElementsAre("--partition=gpu", "--mem=1G"));
  EXPECT_TRUE(line->dry_run);
  EXPECT_THAT(reply_code_of({"submit", "f.yaml"}), HasSubstr("submit --slurm f.yaml"));
  for (const char* nodes : {"0", "-1", "many", "5000000000"})
    EXPECT_THAT(reply_code_of({"submit", "--slurm", "f.yaml", "--nodes", nodes}),
                HasSubstr("nodes"))
        << nodes;
}

TEST(command_line, plans_for_another_engine) {
  const auto line = parse_command_line({"plan", "--engine", "slurm", "--nodes=4", "f.yaml"});
  ASSERT_TRUE(line) << line.error().message();
  EXPECT_EQ(line->engine, "slurm");
  EXPECT_EQ(line->nodes, 4U);
}

TEST(command_line, scale) {
  const auto line = parse_command_line({"scale", "runs/x", "workers=6", "--job", "mlp"});
  ASSERT_TRUE(line) << line.error().message();
  EXPECT_EQ(line->kind, command_kind::scale);
  EXPECT_EQ(line->file, "runs/x");
  EXPECT_EQ(line->workers, 6U);
  EXPECT_EQ(line->job, "mlp");
  EXPECT_THAT(reply_code_of({"scale", "runs/x"}), HasSubstr("workers=N"));
  EXPECT_THAT(reply_code_of({"scale", "runs/x", "workers=0"}), HasSubstr("'workers=0'"));
  const auto both = parse_command_line({"scale", "runs/x", "workers=6", "shards=3"});
  ASSERT_TRUE(both) << both.error().message();
  EXPECT_EQ(both->workers, 6U);
  EXPECT_EQ(both->shards, 3U);
  const auto alone = parse_command_line({"scale", "runs/x", "shards=1024"});
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone->workers, 0U);
  for (const char* word : {"shards=0", "shards=1025", "shards", "servers=2", "shards="})
    EXPECT_THAT(reply_code_of({"scale", "runs/x", word}),
                HasSubstr("'" + std::string(word) + "'"));
  EXPECT_THAT(reply_code_of({"scale", "runs/x", "shards=1", "shards=2"}),
              HasSubstr("'shards=2'"));
}

TEST(command_line, logs_of_all_or_of_one) {
  auto line = parse_command_line({"logs", "x"});
  ASSERT_TRUE(line);
  EXPECT_EQ(line->kind, command_kind::logs);
  EXPECT_EQ(line->file, "x");
  EXPECT_EQ(line->process, "");
  EXPECT_FALSE(line->lines);
  line = parse_command_line({"logs", "x", "shard-0", "-f", "-n", "7"});
  ASSERT_TRUE(line);
  EXPECT_EQ(line->process, "shard-0");
  EXPECT_TRUE(line->follow);
  EXPECT_EQ(line->lines, 7U);
  EXPECT_TRUE(parse_command_line({"logs", "x", "--lines", "all"})->all_lines);
  EXPECT_THAT(reply_code_of({"logs"}), HasSubstr("no run folder is given"));
  EXPECT_THAT(reply_code_of({"logs", "x", "y", "z"}), HasSubstr("more than one run folder"));
  EXPECT_THAT(reply_code_of({"logs", "x", "-n", "few"}), HasSubstr("'few'"));
}

TEST(command_line, runs_in_a_folder_and_their_end) {
  EXPECT_EQ(parse_command_line({"ls"})->file, "runs");
  EXPECT_EQ(parse_command_line({"ls", "here", "--json"})->file, "here");
  EXPECT_EQ(parse_command_line({"top", "x"})->kind, command_kind::top);
  EXPECT_FALSE(parse_command_line({"stop", "x"})->now);
  EXPECT_TRUE(parse_command_line({"stop", "x", "--now"})->now);
  EXPECT_THAT(reply_code_of({"stop"}), HasSubstr("no run folder is given"));
  EXPECT_THAT(reply_code_of({"top", "x", "--now"}), HasSubstr("now"));
}

TEST(command_line, status) {
  const auto line = parse_command_line({"status", "runs/x", "--json"});
  ASSERT_TRUE(line) << line.error().message();
  EXPECT_EQ(line->kind, command_kind::status);
  EXPECT_EQ(line->file, "runs/x");
  EXPECT_TRUE(line->json);
  EXPECT_THAT(reply_code_of({"status"}), HasSubstr("no run folder is given"));
  EXPECT_THAT(reply_code_of({"status", "a", "b"}), HasSubstr("more than one run folder"));
}

TEST(command_line, view) {
  const auto line = parse_command_line({"view", "runs/x", "--address", "127.0.0.1:8080"});
  ASSERT_TRUE(line);
  EXPECT_EQ(line->kind, command_kind::view);
  EXPECT_EQ(line->file, "runs/x");
  EXPECT_EQ(line->address->port, 8080);
  EXPECT_FALSE(parse_command_line({"view", "runs/x"})->address);
  EXPECT_EQ(parse_command_line({"view", "x", "--address", "[::1]"})->address->port, 0);
  for (const auto* elsewhere : {"0.0.0.0:80", "example.org:80", "10.0.0.1:1", ""})
    EXPECT_THAT(reply_code_of({"view", "x", "--address", elsewhere}), HasSubstr("loopback"));
}

TEST(command_line, trace) {
  const auto line = parse_command_line({"trace", "runs/x", "--clocks", "100..120", "-o", "t"});
  ASSERT_TRUE(line);
  EXPECT_EQ(line->kind, command_kind::trace);
  EXPECT_EQ(line->clocks->first, 100U);
  EXPECT_EQ(line->clocks->last, 120U);
  EXPECT_EQ(line->output, "t");
  EXPECT_EQ(parse_command_line({"trace", "x", "--clocks", "7"})->clocks->last, 7U);
  EXPECT_FALSE(parse_command_line({"trace", "x"})->clocks);
  for (const auto* text : {"9..3", "a", "1..", "..2", "", "1..2..3", "-1"})
    EXPECT_THAT(reply_code_of({"trace", "x", "--clocks", text}),
                HasSubstr("allowed: a clock, or two as 100..120"));
  EXPECT_EQ(parse_command_line({"launch", "f", "--trace", "t"})->output, "t");
  const auto clocks =
      parse_command_line({"clocks", "runs/x", "--clocks", "3..4", "--job", "mlp", "--json"});
  ASSERT_TRUE(clocks);
  EXPECT_EQ(clocks->kind, command_kind::clocks);
  EXPECT_EQ(clocks->clocks->last, 4U);
  EXPECT_TRUE(clocks->json && clocks->job == "mlp");
  EXPECT_TRUE(parse_command_line({"clocks", "x", "-f"})->follow);
  EXPECT_EQ(reply_code_of({"clocks", "x", "-f", "--clocks", "3"}),
            "tidegate clocks: --clocks or --follow, not both");
}

TEST(command_line, why) {
  const auto line = parse_command_line({"why", "runs/x", "--last", "100", "--job", "mlp"});
  ASSERT_TRUE(line) << line.error().message();
  EXPECT_EQ(line->kind, command_kind::why);
  EXPECT_EQ(line->file, "runs/x");
  EXPECT_EQ(line->last_clocks, 100U);
  EXPECT_EQ(line->job, "mlp");
  EXPECT_FALSE(line->clock);
  EXPECT_EQ(parse_command_line({"why", "x", "--clock", "0"})->clock, 0U);
  EXPECT_THAT(reply_code_of({"why", "x", "--last", "1", "--clock", "2"}),
              HasSubstr("--last or --clock"));
  EXPECT_THAT(reply_code_of({"why", "x", "--last", "many"}), HasSubstr("many"));
}

TEST(command_line, cancel) {
  const auto line = parse_command_line({"cancel", "runs/x", "mlp"});
  ASSERT_TRUE(line) << line.error().message();
  EXPECT_EQ(line->kind, command_kind::cancel);
  EXPECT_EQ(line->file, "runs/x");
  EXPECT_EQ(line->job, "mlp");
  EXPECT_EQ(parse_command_line({"cancel", "runs/x"})->job, "");
  EXPECT_THAT(reply_code_of({"cancel"}), HasSubstr("cancel RUN_DIR [JOB]"));
  EXPECT_THAT(reply_code_of({"cancel", "a", "b", "c"}), HasSubstr("cancel RUN_DIR [JOB]"));
}

TEST(command_line, export_model) {
  const auto line =
      parse_command_line({"export", "runs/x", "-o", "m.safetensors", "--job=mlp"});
  ASSERT_TRUE(line) << line.error().message();
  EXPECT_EQ(line->kind, command_kind::export_model);
  EXPECT_EQ(line->file, "runs/x");
  EXPECT_EQ(line->output, "m.safetensors");
  EXPECT_EQ(line->job, "mlp");
  EXPECT_TRUE(parse_command_line({"export", "runs/x", "--list"})->list);
  EXPECT_EQ(parse_command_line({"export", "x", "-o", "y", "--checkpoint", "e1"})->checkpoint,
            "e1");
  EXPECT_THAT(reply_code_of({"export", "x", "--list", "--checkpoint", "e1"}),
              HasSubstr("--checkpoint ID belongs to -o FILE"));
  EXPECT_THAT(reply_code_of({"export"}), HasSubstr("no run folder is given"));
  EXPECT_THAT(reply_code_of({"export", "a", "b"}), HasSubstr("more than one run folder"));
  EXPECT_THAT(reply_code_of({"export", "a"}), HasSubstr("either -o FILE or --list"));
  EXPECT_THAT(reply_code_of({"export", "a", "-o", "b", "--list"}), HasSubstr("either"));
}

TEST(command_line, nodes) {
  const auto line =
      parse_command_line({"node", "coordinator", "--run-dir", "d", "--ready-fd", "7"});
  ASSERT_TRUE(line) << line.error().message();
  EXPECT_EQ(line->kind, command_kind::node_coordinator);
  EXPECT_EQ(line->ready_fd, 7);
  const auto two = parse_command_line({"node", "shard", "--run-dir", "d", "--index", "3"});
  ASSERT_TRUE(two) << two.error().message();
  EXPECT_EQ(two->index, 3U);
  const auto three =
      parse_command_line({"node", "aggregator", "--job=-x", "--index", "2", "--run-dir", "d"});
  ASSERT_TRUE(three) << three.error().message();
  EXPECT_EQ(three->kind, command_kind::node_aggregator);
  EXPECT_EQ(three->job, "-x");
  EXPECT_EQ(three->index, 2U);
  EXPECT_THAT(reply_code_of({"node", "shrad"}), HasSubstr("did you mean 'shard'?"));
  EXPECT_THAT(reply_code_of({"node"}), HasSubstr("unknown role ''"));
  EXPECT_THAT(reply_code_of({"node", "shard", "--run-dir", "d"}), HasSubstr("--index"));
}

TEST(command_line, help_and_version) {
  for (const words& args : {words{"--help"}, words{"-h"}, words{"help"}}) {
    const auto line = parse_command_line(args);
    ASSERT_TRUE(line);
    EXPECT_EQ(line->kind, command_kind::help);
    EXPECT_EQ(line->topic, "");
  }
  EXPECT_EQ(parse_command_line({"launch", "--help"})->topic, "launch");
  EXPECT_EQ(parse_command_line({"--help", "yaml"})->topic, "yaml");
  EXPECT_EQ(parse_command_line({"--version"})->kind, command_kind::version);
}

TEST(command_line, help_of_a_key) {
  const auto line = parse_command_line({"help", "yaml", "staleness"});
  ASSERT_TRUE(line) << line.error().message();
  EXPECT_EQ(line->key, "staleness");
  const auto text = help_of(*line);
  ASSERT_TRUE(text) << text.error().message();
  EXPECT_THAT(*text, testing::StartsWith("jobs.*.consistency.staleness\n"));
  EXPECT_FALSE(help_of(*parse_command_line({"help", "yaml", "nothing.here"})));
  EXPECT_EQ(help_of(*parse_command_line({"help", "yaml"})), help_text("yaml"));
  EXPECT_THAT(reply_code_of({"help", "yaml", "a", "b"}), HasSubstr("'b' is one word too many"));
  EXPECT_THAT(reply_code_of({"help", "launch", "a"}), HasSubstr("'a' is one word too many"));
}

TEST(command_line, unknown_words_get_the_nearest_one) {
  EXPECT_THAT(reply_code_of({}), HasSubstr("--help"));
  EXPECT_THAT(reply_code_of({"lunch", "f"}),
              HasSubstr("unknown command 'lunch'; did you mean 'launch'?"));
  EXPECT_THAT(reply_code_of({"--verison"}), HasSubstr("did you mean '--version'?"));
  EXPECT_THAT(reply_code_of({"launch", "f", "--rundir", "x"}),
              HasSubstr("did you mean '--run-dir'?"));
  EXPECT_THAT(reply_code_of({"plan", "f", "--jsn"}), HasSubstr("did you mean '--json'?"));
  EXPECT_THAT(reply_code_of({"validate", "f", "--json"}), HasSubstr("unknown option '--json'"));
}

TEST(command_line, wants_exactly_one_file) {
  EXPECT_THAT(reply_code_of({"launch"}), HasSubstr("no cluster file"));
  EXPECT_THAT(reply_code_of({"launch", "a", "b"}), HasSubstr("more than one cluster file"));
  EXPECT_THAT(reply_code_of({"launch", "a", "--set"}), HasSubstr("--set"));
}

TEST(help_text, exists_for_every_topic) {
  EXPECT_THAT(help_text(""), HasSubstr("Exit codes"));
  EXPECT_THAT(help_text("launch"), HasSubstr("--run-dir"));
  EXPECT_THAT(help_text("export"), HasSubstr("--output"));
  EXPECT_THAT(help_text("plan"), HasSubstr("--json"));
  EXPECT_THAT(help_text("validate"), HasSubstr("--set"));
  EXPECT_THAT(help_text("node"), HasSubstr("Internal"));
  EXPECT_THAT(help_text("yaml"), HasSubstr("jobs.*.consistency.policy"));
}

}  // namespace
}  // namespace tidegate::launch
