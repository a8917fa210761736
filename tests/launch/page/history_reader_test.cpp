#include "launch/page/history_reader.hpp"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "tests/launch/page/metrics_lines.hpp"
#include "tests/support/temporary.hpp"

namespace tidegate::launch {
namespace {

constexpr std::size_t enough = 1 << 20;

struct history_reader_test : testing::Test {
  void append(const std::string& text, const std::string& name = "metrics.jsonl") const {
    std::ofstream(folder.path(name), std::ios::app | std::ios::binary) << text;
  }
  void append_seconds(int first, int end, const std::string& name = "metrics.jsonl") const {
    for (int second = first; second < end; ++second)
      append(metrics_lines::line(second, 2) + "\n", name);
  }
  void rotate() const {
    std::filesystem::rename(folder.path("metrics.jsonl"), folder.path("metrics.1.jsonl"));
  }
  std::size_t seconds() const {
    const auto* series = reader.history().find("mlp");
    return series == nullptr ? 0 : series->points().size();
  }

  tests::temporary_folder folder;
  history_reader reader{folder.path("")};
};

TEST_F(history_reader_test, waits_for_a_file_that_is_not_there_yet) {
  EXPECT_TRUE(reader.read(enough));
  EXPECT_EQ(reader.failure(), "");
  append_seconds(0, 2);
  EXPECT_TRUE(reader.read(enough));
  EXPECT_EQ(seconds(), 2U);
  append_seconds(2, 3);
  EXPECT_TRUE(reader.read(enough));
  EXPECT_EQ(seconds(), 3U);
}

TEST_F(history_reader_test, reads_the_older_file_first) {
  append_seconds(0, 3);
  rotate();
  append_seconds(3, 5);
  EXPECT_TRUE(reader.read(enough));
  EXPECT_EQ(seconds(), 5U);
  EXPECT_EQ(reader.history().find("mlp")->points().back().slowest, 50U);
}

TEST_F(history_reader_test, goes_on_when_the_launcher_begins_a_new_file) {
  append_seconds(0, 2);
  EXPECT_TRUE(reader.read(enough));
  append_seconds(2, 4);
  rotate();
  EXPECT_TRUE(reader.read(enough));
  EXPECT_EQ(seconds(), 4U);
  append_seconds(4, 6);
  EXPECT_TRUE(reader.read(enough));
  EXPECT_EQ(seconds(), 6U);
  rotate();
  append_seconds(6, 7);
  rotate();  // the file that it had has no name any more
  append_seconds(7, 8);
  EXPECT_TRUE(reader.read(enough));
  EXPECT_EQ(seconds(), 8U);
}

TEST_F(history_reader_test, reads_a_bounded_part_at_a_time) {
  append_seconds(0, 400);
  EXPECT_FALSE(reader.read(1));
  const auto first = seconds();
  EXPECT_GT(first, 0U);
  EXPECT_LT(first, 400U);
  int reads = 1;
  while (!reader.read(1)) ++reads;
  EXPECT_GT(reads, 1);
  EXPECT_EQ(seconds(), 400U);
}

TEST_F(history_reader_test, passes_over_torn_and_endless_lines) {
  const auto whole = metrics_lines::line(0, 2);
  append(whole.substr(0, 40) + "\n" + whole + "\n" + std::string(3 << 20, 'x'));
  while (!reader.read(enough)) continue;
  EXPECT_EQ(seconds(), 1U);
  append("\n" + metrics_lines::line(1, 2) + "\n" + whole.substr(0, 40));
  EXPECT_TRUE(reader.read(enough));
  EXPECT_EQ(seconds(), 2U);
  append(whole.substr(40) + "\n");  // the rest of it
  EXPECT_TRUE(reader.read(enough));
  EXPECT_EQ(seconds(), 3U);
}

TEST_F(history_reader_test, says_what_it_cannot_read) {
  std::filesystem::create_directory(folder.path("metrics.jsonl"));
  EXPECT_TRUE(reader.read(enough));
  EXPECT_THAT(reader.failure(), testing::HasSubstr("metrics.jsonl: Is a directory"));
}

}  // namespace
}  // namespace tidegate::launch
