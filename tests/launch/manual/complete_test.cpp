#include "launch/manual/complete.hpp"

#include <gmock/gmock.h>

namespace tidegate::launch {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;

using texts = std::vector<std::string>;
using names = completion::names;

const option_name help_option{.name = "help", .letter = 'h', .has_value = false};

std::vector<command_page> pages() {
  return {
      {.name = "",
       .help = "tidegate - a server\n\n  tidegate logs RUN_DIR\n      show what they write\n"
               "  tidegate launch FILE\n      run it; see tidegate launch --help\n",
       .options = {}},
      {.name = "bench",
       .help = "tidegate bench - measure\n\n"
               "  tidegate bench rows [options]\n      rows of tables\n",
       .options = {help_option}},
      {.name = "bench rows",
       .help = "tidegate bench rows [options]\n\n  --json FILE   figures\n",
       .options = {help_option, {.name = "json"}}},
      {.name = "chaos",
       .help = "tidegate chaos RUN_DIR kill|stop PROCESS\ntidegate chaos RUN_DIR fill\n",
       .options = {help_option}},
      {.name = "launch",
       .help = "tidegate launch FILE [--set path=value]\ntidegate launch --resume RUN_DIR\n\n"
               "  --resume RUN_DIR   go on\n  --run-dir DIR      there\n"
               "  --set path=value   change\n  --follow           show\n",
       .options = {help_option,
                   {.name = "resume"},
                   {.name = "run-dir"},
                   {.name = "set"},
                   {.name = "follow", .letter = 'f', .has_value = false}}},
      {.name = "logs",
       .help = "tidegate logs RUN_DIR [PROCESS] [--job NAME]\n\n  --job NAME   of it\n",
       .options = {help_option, {.name = "job"}}},
      {.name = "scale",
       .help = "tidegate scale RUN_DIR workers=N shards=N\n",
       .options = {help_option}}};
}

lookups world() {
  return {
      .runs =
          [](const std::string&) {
            return texts{"runs/a", "runs/b"};
          },
      .processes =
          [](const std::string& run) {
            return run == "runs/a" ? texts{"shard-0", "worker-mlp-0"} : texts{};
          },
      .jobs = [](const std::string& run) { return run == "runs/a" ? texts{"mlp"} : texts{}; },
      .file =
          [](const std::string& path) {
            return path == "c.yaml" ? std::string("jobs: {mlp: {}}") : std::string();
          }};
}

completion of(const texts& words) {
  return complete(pages(), words, world());
}

texts words_of(const texts& words) {
  texts found;
  for (const auto& each : of(words).words) found.push_back(each.word);
  return found;
}

TEST(complete, commands) {
  EXPECT_THAT(words_of({""}), IsSupersetOf({"bench", "chaos", "launch", "logs", "--version"}));
  EXPECT_THAT(words_of({"l"}), ElementsAre("launch", "logs"));
  EXPECT_THAT(of({"lo"}).words, ElementsAre(suggestion{"logs", "show what they write"}));
  EXPECT_THAT(of({"help", "la"}).words, ElementsAre(suggestion{"launch", "run it"}));
  EXPECT_THAT(words_of({"nothing", ""}), IsEmpty());
}

TEST(complete, commands_of_commands) {
  EXPECT_THAT(of({"bench", ""}).words, ElementsAre(suggestion{"rows", "rows of tables"}));
  EXPECT_THAT(words_of({"bench", "rows", "--j"}), ElementsAre("--json"));
  EXPECT_EQ(of({"bench", "rows", "--json", ""}).also, names::files);
}

TEST(complete, options_with_what_they_are) {
  EXPECT_THAT(of({"launch", "c.yaml", "--f"}).words,
              ElementsAre(suggestion{"--follow", "show"}));
  EXPECT_THAT(words_of({"launch", "-"}),
              ElementsAre("--help", "--resume", "--run-dir", "--set", "--follow"));
  EXPECT_THAT(words_of({"launch", "c.yaml", ""}), Contains("--follow"))
      << "nothing else can follow";
}

TEST(complete, words_of_the_kind_that_is_expected) {
  EXPECT_EQ(of({"launch", ""}).also, names::files);
  EXPECT_THAT(words_of({"logs", ""}), ElementsAre("runs/a", "runs/b"));
  EXPECT_THAT(words_of({"logs", "runs/a", ""}), ElementsAre("shard-0", "worker-mlp-0"));
  EXPECT_THAT(words_of({"logs", "runs/a", "w"}), ElementsAre("worker-mlp-0"));
  EXPECT_EQ(of({"logs", "elsewhere/"}).also, names::folders) << "there is no run";
  EXPECT_THAT(words_of({"scale", "runs/a", "w"}), ElementsAre("workers="));
}

TEST(complete, words_after_others) {
  EXPECT_THAT(words_of({"chaos", "runs/a", ""}), ElementsAre("kill", "stop", "fill"));
  EXPECT_THAT(words_of({"chaos", "runs/a", "kill", "s"}), ElementsAre("shard-0"));
  EXPECT_THAT(words_of({"chaos", "runs/a", "fill", "s"}), IsEmpty());
}

TEST(complete, values_of_options) {
  EXPECT_THAT(words_of({"launch", "--resume", ""}), ElementsAre("runs/a", "runs/b"));
  EXPECT_THAT(words_of({"launch", "--resume=runs/a"}), ElementsAre("--resume=runs/a"));
  EXPECT_EQ(of({"launch", "--run-dir", ""}).also, names::folders);
  EXPECT_THAT(words_of({"logs", "runs/a", "--job", ""}), ElementsAre("mlp"));
  EXPECT_THAT(words_of({"launch", "c.yaml", "--set", "jobs."}), ElementsAre("jobs.mlp."));
  EXPECT_THAT(words_of({"launch", "c.yaml", "--set=jobs."}), ElementsAre("--set=jobs.mlp."));
  EXPECT_THAT(words_of({"launch", "--set", "jobs."}), IsEmpty()) << "the file is not known";
}

TEST(complete, keys_for_help) {
  EXPECT_THAT(words_of({"help", "y"}), ElementsAre("yaml"));
  EXPECT_THAT(words_of({"help", "yaml", "stale"}), ElementsAre("staleness"));
}

TEST(complete, lines_are_for_shells) {
  completion all;
  all.words = {{"a", "about\nit"}, {"b"}, {"no\nword"}};
  all.also = names::folders;
  EXPECT_EQ(completion_lines(all), "a\tabout it\nb\n:folders\n");
}

}  // namespace
}  // namespace tidegate::launch
