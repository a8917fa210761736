#include "launch/run/run_folder.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <signal.h>
#include <sys/resource.h>

#include <gmock/gmock.h>

#include "launch/text/files.hpp"

namespace tidegate::launch {
namespace {

namespace fs = std::filesystem;

// A fresh working folder, left and removed at the end.
class run_folders : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "run_folder_XXXXXX";
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
    before_ = fs::current_path();
    fs::current_path(folder_);
  }
  void TearDown() override {
    fs::current_path(before_);
    fs::remove_all(folder_);
  }
  std::string folder_;
  fs::path before_;
};

TEST_F(run_folders, have_unique_names_by_default) {
  const auto first = run_folder::create("", "mlp", 1'700'000'000);
  ASSERT_TRUE(first) << first.error().message();
  EXPECT_THAT(first->shown(), testing::MatchesRegex("runs/mlp-2023111[45]-[0-9]{6}"));
  EXPECT_EQ(first->path(), (fs::current_path() / first->shown()).string());
  const auto second = run_folder::create("", "mlp", 1'700'000'000);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->shown(), first->shown() + "-2");
}

TEST_F(run_folders, may_exist_when_they_are_empty) {
  fs::create_directories("a/b");
  EXPECT_TRUE(run_folder::create("a/b", "x", 0));
  EXPECT_TRUE(fs::is_directory("a/b/logs"));
  EXPECT_TRUE(run_folder::create("c/d/", "x", 0));
  const auto taken = run_folder::create("a/b", "x", 0);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code(), runtime::errc::already_exists);
  EXPECT_THAT(taken.error().message(), testing::HasSubstr("a/b: is not empty"));
}

TEST_F(run_folders, say_why_they_cannot_be_made) {
  std::ofstream("file") << "x";
  const auto file = run_folder::create("file", "x", 0);
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message(), testing::HasSubstr("is no folder"));
  const auto below = run_folder::create("file/run", "x", 0);
  ASSERT_FALSE(below);
  EXPECT_EQ(below.error().code(), runtime::errc::io_error);
  const auto unwritable = run_folder::create("/proc/run", "x", 0);
  ASSERT_FALSE(unwritable);
  EXPECT_EQ(unwritable.error().code(), runtime::errc::io_error);
}

TEST_F(run_folders, belong_to_one_process_at_a_time) {
  {
    const auto first = run_folder::create("r", "x", 0);
    ASSERT_TRUE(first);
    const auto second = run_folder::reopen("r");
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code(), runtime::errc::already_exists);
  }
  const auto third = run_folder::reopen("r/");
  ASSERT_TRUE(third) << third.error().message();
  EXPECT_EQ(third->path(), (fs::current_path() / "r").string());
  EXPECT_EQ(run_folder::reopen("none").error().code(), runtime::errc::not_found);
}

TEST_F(run_folders, keep_their_events_but_half_a_line) {
  ASSERT_TRUE(run_folder::create("r", "x", 0)->append_event({0, "first", ""}).ok());
  std::ofstream("r/events.jsonl", std::ios::app) << "{\"unix_ns\"";
  ASSERT_TRUE(run_folder::reopen("r")->append_event({0, "second", ""}).ok());
  const auto events = *read_file("r/events.jsonl");
  EXPECT_THAT(events, testing::ContainsRegex("first[^\n]*\n[^\n]*second"));
  EXPECT_EQ(std::count(events.begin(), events.end(), '\n'), 2);
  std::ofstream("r/events.jsonl") << "{";
  ASSERT_TRUE(run_folder::reopen("r"));
  EXPECT_EQ(*read_file("r/events.jsonl"), "");
}

TEST_F(run_folders, keep_the_highest_epoch) {
  auto folder = run_folder::create("r", "x", 0);
  EXPECT_EQ(*folder->last_epoch(), 0U);
  ASSERT_TRUE(folder->record_epoch(1).ok());
  ASSERT_TRUE(folder->record_epoch(2).ok());
  EXPECT_EQ(*folder->last_epoch(), 2U);
}

TEST_F(run_folders, replace_files_as_a_whole) {
  const auto folder = run_folder::create("r", "x", 0);
  ASSERT_TRUE(folder->write("pids.json", "one").ok());
  ASSERT_TRUE(folder->write("pids.json", "two").ok());
  EXPECT_EQ(*read_file("r/pids.json"), "two");
  EXPECT_FALSE(fs::exists("r/pids.json.tmp"));
}

TEST_F(run_folders, report_a_disk_that_is_full) {
  auto folder = run_folder::create("r", "x", 0);
  ASSERT_TRUE(folder->write("pids.json", "old").ok());
  // A limit on the size of files is a full disk that a test can have.
  rlimit before = {};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{16, before.rlim_max};
  ::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  const auto whole = folder->write("pids.json", std::string(100, 'x'));
  const auto event =
      folder->append_event({.unix_ns = 0, .subject = "kind", .detail = "detail"});
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, SIG_DFL);
  EXPECT_EQ(whole.code(), runtime::errc::io_error);
  EXPECT_THAT(whole.message(), testing::HasSubstr("pids.json.tmp"));
  EXPECT_EQ(*read_file("r/pids.json"), "old") << "what was there stays";
  EXPECT_FALSE(fs::exists("r/pids.json.tmp"));
  EXPECT_EQ(event.code(), runtime::errc::io_error);
}

TEST_F(run_folders, give_the_last_lines_of_logs) {
  std::ofstream("log") << "a\nb\nc\n";
  EXPECT_EQ(last_lines("log", 2), "b\nc");
  EXPECT_EQ(last_lines("log", 3), "a\nb\nc");
  EXPECT_EQ(last_lines("log", 9), "a\nb\nc");
  std::ofstream("long") << std::string(100'000, 'x') << "\nend";
  EXPECT_EQ(last_lines("long", 1), "end");
  EXPECT_LE(last_lines("long", 2).size(), 8U * 1024);
  std::ofstream("empty") << "";
  EXPECT_EQ(last_lines("empty", 2), "");
  EXPECT_EQ(last_lines("none", 2), "");
}

}  // namespace
}  // namespace tidegate::launch
