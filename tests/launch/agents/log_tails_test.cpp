#include "launch/agents/log_tails.hpp"

#include <filesystem>
#include <fstream>
#include <map>
#include <poll.h>
#include <stdlib.h>

#include <gtest/gtest.h>

namespace tidegate::launch {
namespace {

class log_tails_test : public testing::Test {
 protected:
  void SetUp() override {
    folder = testing::TempDir() + "tails_XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  void write(const std::string& file, const std::string& text) const {
    std::ofstream(folder + "/" + file, std::ios::app) << text;
  }
  // All that is told, by who has written it.
  std::map<std::string, std::string> take(log_tails& tails, std::size_t bytes_max = 1U << 20U) {
    std::vector<policies::agent_report> reports;
    tails.take(bytes_max, reports);
    std::map<std::string, std::string> told;
    for (const auto& report : reports) {
      const auto& log = std::get<policies::agent_reports::logged>(report);
      told[log.writer] += log.text;
    }
    return told;
  }
  using texts = std::map<std::string, std::string>;

  std::string folder;
};

TEST_F(log_tails_test, tell_what_is_new_of_each_log_once) {
  write("worker-mlp-0.log", "early\n");
  auto tails = log_tails::in(folder);
  ASSERT_TRUE(tails) << tails.error().message();
  EXPECT_EQ(take(*tails), (texts{{"worker-mlp-0", "early\n"}}));
  EXPECT_TRUE(take(*tails).empty());
  write("worker-mlp-0.log", "one\nbegun");
  write("shard-1.log", "two\n");
  write("another", "is no log\n");
  pollfd waited{.fd = tails->fd(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&waited, 1, 10'000), 1);
  EXPECT_EQ(take(*tails), (texts{{"worker-mlp-0", "one\nbegun"}, {"shard-1", "two\n"}}));
  EXPECT_TRUE(take(*tails).empty());
}

TEST_F(log_tails_test, keep_the_rest_for_the_next_call) {
  auto tails = log_tails::in(folder);
  ASSERT_TRUE(tails);
  std::string long_text;
  for (int line = 0; line < 20'000; ++line) long_text += "line " + std::to_string(line) + "\n";
  write("a.log", long_text);
  std::string told;
  int calls = 0;
  do {
    told += take(*tails, 50'000)["a"];
    ++calls;
    EXPECT_TRUE(!tails->has_more() || told.back() == '\n') << "lines stay whole";
  } while (tails->has_more());
  EXPECT_GT(calls, 4);
  EXPECT_EQ(told, long_text);
}

TEST_F(log_tails_test, take_a_line_that_is_longer_than_a_report) {
  auto tails = log_tails::in(folder);
  ASSERT_TRUE(tails);
  write("a.log", std::string(200'000, 'x'));
  EXPECT_EQ(take(*tails)["a"].size(), 200'000U);
}

}  // namespace
}  // namespace tidegate::launch
