// Lines of events.jsonl are in the order of their times, whoever writes them.
#include "launch/run/event_log.hpp"

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <stdlib.h>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace tidegate::launch {
namespace {

using testing::ElementsAre;

class event_logs : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "events_XXXXXX";
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
    path_ = folder_ + "/events.jsonl";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  event_log open() const { return std::move(*event_log::open(path_, O_CREAT)); }

  std::vector<std::int64_t> times(const char* key) const {
    std::vector<std::int64_t> all;
    std::ifstream in(path_);
    for (std::string line; std::getline(in, line);)
      all.push_back(nlohmann::json::parse(line).value(key, std::int64_t{-1}));
    return all;
  }

  std::string folder_;
  std::string path_;
};

TEST_F(event_logs, have_no_line_earlier_than_the_one_before) {
  auto log = open();
  for (const std::int64_t at : {5, 3, 8, 8, 7}) ASSERT_TRUE(log.append({at, "kind", ""}).ok());
  EXPECT_THAT(times("unix_ns"), ElementsAre(5, 5, 8, 8, 8));
  EXPECT_THAT(times("happened_ns"), ElementsAre(-1, 3, -1, -1, 7));
}

TEST_F(event_logs, see_what_others_have_written) {
  auto one = open();
  auto other = open();
  ASSERT_TRUE(one.append({5, "kind", ""}).ok());
  ASSERT_TRUE(other.append({4, "kind", std::string(10'000, 'x')}).ok());
  ASSERT_TRUE(other.append({9, "kind", std::string(10'000, 'x')}).ok());
  ASSERT_TRUE(one.append({6, "kind", ""}).ok());
  EXPECT_THAT(times("unix_ns"), ElementsAre(5, 5, 9, 9));
}

TEST_F(event_logs, have_the_fields_that_an_event_is_about) {
  auto log = open();
  ASSERT_TRUE(log.append({.unix_ns = 1,
                          .subject = "worker_lost",
                          .detail = "a sentence",
                          .about = {.job = "mlp", .rank = 3, .clock = 7, .cause = "killed"}})
                  .ok());
  ASSERT_TRUE(log.append({.unix_ns = 1, .subject = "launched", .detail = ""}).ok());
  std::ifstream in(path_);
  std::string first, second;
  std::getline(in, first);
  std::getline(in, second);
  auto line = nlohmann::json::parse(first);
  line.erase("time");
  EXPECT_EQ(line, (nlohmann::json{{"unix_ns", 1},
                                  {"kind", "worker_lost"},
                                  {"detail", "a sentence"},
                                  {"process", "worker-mlp-3"},
                                  {"job", "mlp"},
                                  {"rank", 3},
                                  {"clock", 7},
                                  {"cause", "killed"}}));
  EXPECT_EQ(nlohmann::json::parse(second).size(), 4U) << "what it is not about is left out";
}

TEST_F(event_logs, go_on_where_an_earlier_process_stopped) {
  ASSERT_TRUE(open().append({7, "kind", ""}).ok());
  ASSERT_TRUE(open().append({2, "run_resumed", ""}).ok());
  EXPECT_THAT(times("unix_ns"), ElementsAre(7, 7));
}

}  // namespace
}  // namespace tidegate::launch
