// What resumes a run ends what an earlier life of it has left, and nobody else.
#include "launch/processes/leftovers.hpp"

#include <filesystem>
#include <fstream>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <gmock/gmock.h>

#include "launch/plan/origin.hpp"
#include "launch/processes/process_records.hpp"
#include "launch/processes/process_table.hpp"
#include "runtime/process/process_stat.hpp"

namespace tidegate::launch {
namespace {

using runtime::errc;

// In a process group of its own and this process's session, as all that a launcher starts.
pid_t start_sleep(process_table& table, policies::process_number number,
                  const std::string& run_dir, const std::string& token) {
  const auto pid =
      table.start({number, 1}, {.role = process_role::shard, .job = "", .index = number},
                  {.program = "/bin/sleep",
                   .arguments = {"sleep", "1000"},
                   .environment = {"TIDEGATE_RUN_DIR=" + run_dir, "TIDEGATE_TOKEN=" + token},
                   .log_path = "/dev/null"});
  EXPECT_TRUE(pid);
  return pid ? *pid : -1;
}

TEST(leftovers, are_ended_and_nobody_else_is) {
  const auto run_dir = testing::TempDir() + "leftovers-" + std::to_string(::getpid());
  const auto own = runtime::stat_of(::getpid());
  ASSERT_TRUE(own);
  earlier_launch earlier{.launcher = {.pid = ::getpid(),
                                      .started = own->started,
                                      .session = own->session,
                                      .token = "00ff"},
                         .listed = {},
                         .run_dirs = {"/somewhere/else", run_dir}};
  process_table table;
  start_sleep(table, 1, run_dir, "00ff");
  start_sleep(table, 2, run_dir, "00ff");
  start_sleep(table, 3, run_dir + "/another", "00ff");
  start_sleep(table, 4, run_dir, "00fe");
  const auto ended = end_leftovers(earlier);
  ASSERT_TRUE(ended) << ended.error().message();
  EXPECT_EQ(*ended, 2);
  const auto gone = table.reap();
  ASSERT_EQ(gone.size(), 2U);
  for (const auto& one : gone) EXPECT_EQ(one.code, SIGKILL);
  EXPECT_EQ(end_leftovers(earlier).value(), 0);
}

TEST(leftovers, of_another_machine_are_not_looked_for_here) {
  const auto run_dir = testing::TempDir() + "leftovers-" + std::to_string(::getpid());
  process_table table;
  earlier_launch earlier{
      .launcher = own_mark_as_launcher("00ff"), .listed = {}, .run_dirs = {run_dir}};
  start_sleep(table, 1, run_dir, "00ff");
  auto elsewhere = earlier;
  elsewhere.launcher.machine = "another";
  EXPECT_EQ(end_leftovers(elsewhere).value(), 0);
  EXPECT_EQ(end_leftovers(earlier).value(), 1);
}

TEST(leftovers, are_found_by_what_their_launcher_wrote) {
  auto folder = testing::TempDir() + "life_XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  EXPECT_EQ(read_earlier_launch(folder).error().code(), errc::not_found);
  const policies::launcher_mark mark{.pid = 100, .started = 50, .session = 90, .token = "00ff"};
  std::ofstream(folder + "/launcher.json") << launcher_json(mark);
  std::ofstream(folder + "/pids.json")
      << pids_json({{.name = {.role = process_role::shard, .job = "", .index = 0},
                     .pid = 101,
                     .started = 60}});
  const auto earlier = read_earlier_launch(folder);
  ASSERT_TRUE(earlier) << earlier.error().message();
  EXPECT_EQ(earlier->launcher.pid, 100);
  EXPECT_EQ(earlier->launcher.started, 50U);
  EXPECT_EQ(earlier->launcher.session, 90);
  EXPECT_EQ(earlier->launcher.token, "00ff");
  EXPECT_EQ(earlier->listed, std::vector<std::int32_t>{101});
  for (const auto* text : {"", "[]", "{}", R"({"pid": -1, "started": 1, "session": 1})"}) {
    std::ofstream(folder + "/launcher.json") << text;
    EXPECT_EQ(read_earlier_launch(folder).error().code(), errc::corrupt) << text;
  }
  std::filesystem::remove_all(folder);
}

class origins : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "origin_XXXXXX";
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
};

TEST_F(origins, are_read_as_they_were_written) {
  const origin from{"/home/a \"b\"", "/runs/x"};
  std::ofstream(folder_ + "/origin.json") << origin_json(from);
  const auto read = read_origin(folder_);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, from);
}

TEST_F(origins, are_nothing_else) {
  EXPECT_EQ(read_origin(folder_).error().code(), errc::not_found);
  for (const auto* text :
       {"", "[]", "{}", R"({"folder": "/"})", R"({"folder": 1, "run_dir": ""})"}) {
    std::ofstream(folder_ + "/origin.json") << text;
    EXPECT_EQ(read_origin(folder_).error().code(), errc::corrupt) << text;
  }
}

}  // namespace
}  // namespace tidegate::launch
