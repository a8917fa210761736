#include "launch/page/run_files.hpp"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/launch/page/metrics_lines.hpp"
#include "tests/support/temporary.hpp"

namespace tidegate::launch {
namespace {

using nlohmann::json;
using testing::HasSubstr;

struct run_files_test : testing::Test {
  run_files_test() { std::filesystem::create_directory(folder.path("logs")); }
  void append(const std::string& name, const std::string& text) const {
    std::ofstream(folder.path(name), std::ios::app | std::ios::binary) << text;
  }
  void append_event(int number, const std::string& detail = "shard 0") const {
    append("events.jsonl",
           json{{"unix_ns", number}, {"kind", "shard_lost"}, {"detail", detail}}.dump() + "\n");
  }
  json events(std::uint64_t since = 0) const {
    const auto text = events_json(folder.path(""), since);
    EXPECT_TRUE(text);
    return json::parse(*text);
  }

  tests::temporary_folder folder;
};

TEST_F(run_files_test, events_are_read_from_where_the_last_answer_ended) {
  EXPECT_TRUE(events()["events"].empty());
  append_event(1);
  append_event(2);
  const auto first = events();
  EXPECT_EQ(first["skipped"], false);
  ASSERT_EQ(first["events"].size(), 2U);
  EXPECT_EQ(first["events"][1]["kind"], "shard_lost");
  const auto next = first["next"].get<std::uint64_t>();
  EXPECT_EQ(next, std::filesystem::file_size(folder.path("events.jsonl")));
  EXPECT_TRUE(events(next)["events"].empty());
  EXPECT_EQ(events(next)["next"], next);
  append_event(3);
  EXPECT_EQ(events(next)["events"].size(), 1U);
  EXPECT_EQ(events(next)["events"][0]["unix_ns"], 3);
  EXPECT_EQ(events(next)["skipped"], false);
  EXPECT_EQ(events(next - 3)["events"].size(), 1U);   // within a line: from the next
  EXPECT_EQ(events(1'000'000)["events"].size(), 3U);  // of another file
}

TEST_F(run_files_test, half_an_event_is_read_once_it_is_whole) {
  append_event(1);
  append("events.jsonl", R"({"unix_ns":2,"kind":"sha)");
  const auto first = events();
  EXPECT_EQ(first["events"].size(), 1U);
  append("events.jsonl", R"(rd_gone","detail":""})"
                         "\nno event\n[]\n");
  const auto more = events(first["next"].get<std::uint64_t>());
  ASSERT_EQ(more["events"].size(), 1U);
  EXPECT_EQ(more["events"][0]["kind"], "shard_gone");
}

TEST_F(run_files_test, of_many_events_the_last_are_told_in_bounded_size) {
  for (int i = 0; i < 3000; ++i) append_event(i, std::string(1000, 'x'));
  const auto text = events_json(folder.path(""), 0);
  ASSERT_TRUE(text);
  EXPECT_LT(text->size(), 300'000U);
  const auto all = json::parse(*text);
  EXPECT_EQ(all["skipped"], true);
  EXPECT_EQ(all["events"].back()["unix_ns"], 2999);
}

TEST_F(run_files_test, an_event_has_the_time_when_it_happened) {
  append("events.jsonl", R"({"unix_ns":9,"kind":"x","detail":"","happened_ns":5})"
                         "\n");
  EXPECT_EQ(events()["events"][0]["unix_ns"], 5);
}

TEST_F(run_files_test, events_that_cannot_be_read_are_an_error) {
  std::filesystem::create_directory(folder.path("events.jsonl"));
  const auto text = events_json(folder.path(""), 0);
  ASSERT_FALSE(text);
  EXPECT_THAT(text.error().message(), HasSubstr("events.jsonl"));
}

TEST_F(run_files_test, the_end_of_a_log) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "line " + std::to_string(i) + "\n";
  append("logs/worker-mlp-0.log", text + "\xff<script>\n");
  append("logs/shard-0.log", "");
  append("logs/other.txt", "secret");
  EXPECT_EQ(log_names_json(folder.path("")), R"({"processes":["shard-0","worker-mlp-0"]})");
  const auto found = log_json(folder.path(""), "worker-mlp-0");
  ASSERT_TRUE(found);
  const auto log = json::parse(*found);
  EXPECT_THAT(log["text"].get<std::string>(), testing::StartsWith("line 801\n"));
  EXPECT_THAT(log["text"].get<std::string>(), HasSubstr("\xEF\xBF\xBD<script>"));
  EXPECT_EQ(log["bytes"], text.size() + 10);
}

TEST_F(run_files_test, a_log_of_endless_lines_is_bounded) {
  append("logs/worker-mlp-0.log", std::string(1 << 20, 'x'));
  const auto found = log_json(folder.path(""), "worker-mlp-0");
  ASSERT_TRUE(found);
  EXPECT_LT(found->size(), 70'000U);
}

// The name is never a path.
TEST_F(run_files_test, only_processes_of_the_list_have_logs) {
  append("launcher.json", "the token");
  append("logs/shard-0.log", "text");
  for (const auto* name :
       {"../launcher.json", "../launcher", "shard-0.log", "./shard-0", "/etc/passwd", "", ".",
        "..", "shard-0/", "shard-0\n", "../logs/shard-0"}) {
    const auto found = log_json(folder.path(""), name);
    ASSERT_FALSE(found) << name;
    EXPECT_EQ(found.error().code(), runtime::errc::not_found);
  }
}

TEST_F(run_files_test, reasons_are_the_sentences_of_why) {
  EXPECT_EQ(reasons_json(folder.path(""), 30, 1), R"({"jobs":[]})");
  for (int second = 0; second < 100; ++second)
    append("metrics.jsonl", metrics_lines::line(second, 4) + "\n");
  const auto all = json::parse(reasons_json(folder.path(""), 30, 1));
  ASSERT_EQ(all["jobs"].size(), 1U);
  EXPECT_EQ(all["jobs"][0]["first_clock"], 710);
  EXPECT_EQ(all["jobs"][0]["ranks"], json({1}));
  EXPECT_THAT(all["jobs"][0]["reasons"][0].get<std::string>(),
              HasSubstr("worker 1 holds the job up by "));
  append("metrics.jsonl", R"({"version":2,"job":"mlp","workers":[]})"
                          "\n");
  EXPECT_EQ(reasons_json(folder.path(""), 30, 1), R"({"jobs":[]})");
}

}  // namespace
}  // namespace tidegate::launch
