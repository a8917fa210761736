// What resumes a run ends what an earlier life of it has left, and nobody else.
#include "launch/leftovers.hpp"

#include <filesystem>
#include <fstream>
#include <signal.h>
#include <stdlib.h>
#include <string_view>
#include <sys/wait.h>

#include <gmock/gmock.h>

#include "launch/origin.hpp"
#include "launch/process_table.hpp"

namespace tidegate::launch {
namespace {

using runtime::errc;

TEST(leftovers, are_told_by_their_environment) {
  using namespace std::string_view_literals;
  constexpr auto environment = "HOME=/\0TIDEGATE_RUN_DIR=/r\0TIDEGATE_TOKEN=1\0"sv;
  EXPECT_TRUE(is_of_run(environment, "/r"));
  EXPECT_FALSE(is_of_run(environment, "/r/2"));
  EXPECT_FALSE(is_of_run(environment, "/"));
  EXPECT_FALSE(is_of_run("X=TIDEGATE_RUN_DIR=/r\0"sv, "/r"));
  EXPECT_FALSE(is_of_run("", "/r"));
}

// In a process group of its own, as all that a launcher starts.
pid_t start_sleep(process_table& table, policies::process_number number,
                  const std::string& run_dir) {
  const auto pid = table.start(
      number, {process_role::shard, "", number},
      {"/bin/sleep", {"sleep", "1000"}, {"TIDEGATE_RUN_DIR=" + run_dir}, "/dev/null"});
  EXPECT_TRUE(pid);
  return pid ? *pid : -1;
}

TEST(leftovers, are_ended_and_nobody_else_is) {
  const auto run_dir = testing::TempDir() + "leftovers-" + std::to_string(::getpid());
  process_table table;
  start_sleep(table, 1, run_dir);
  start_sleep(table, 2, run_dir);
  start_sleep(table, 3, run_dir + "/another");
  const auto ended = end_leftovers(run_dir);
  ASSERT_TRUE(ended) << ended.error().message();
  EXPECT_EQ(*ended, 2);
  const auto gone = table.reap();
  ASSERT_EQ(gone.size(), 2U);
  for (const auto& one : gone) EXPECT_EQ(one.code, SIGKILL);
  EXPECT_EQ(end_leftovers(run_dir).value(), 0);
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
