#include "launch/text/display.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "runtime/base/unique_fd.hpp"

namespace tidegate::launch {
namespace {

// A pipe in place of standard output.
class displays : public testing::Test {
 protected:
  displays() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    read_end_ = runtime::unique_fd(ends[0]);
    write_end_ = runtime::unique_fd(ends[1]);
  }
  std::string written() {
    writer_.drain();
    char block[4096];
    const auto n = ::read(read_end_.get(), block, sizeof block);
    return n < 0 ? "" : std::string(block, static_cast<std::size_t>(n));
  }
  runtime::unique_fd read_end_;
  runtime::unique_fd write_end_;
  output_writer writer_;
};

TEST_F(displays, redraw_in_place_on_a_terminal) {
  display screen(writer_, write_end_.get(), true);
  screen.live({"a 1", "b 1"}, true, 0);
  EXPECT_EQ(written(), "a 1\nb 1\n");
  screen.live({"a 1", "b 1"}, true, 1);
  EXPECT_EQ(written(), "") << "nothing new";
  screen.live({"a 2", "b 1"}, false, 2);
  EXPECT_EQ(written(), "\r\x1b[2A\x1b[Ja 2\nb 1\n");
  screen.print("note");
  EXPECT_EQ(written(), "\r\x1b[2A\x1b[Jnote\na 2\nb 1\n");
  screen.end_live();
  EXPECT_EQ(written(), "\r\x1b[2A\x1b[J");
  screen.print("last");
  EXPECT_EQ(written(), "last\n") << "nothing is drawn again below it";
  EXPECT_EQ(screen.width(), 80U);
}

TEST_F(displays, print_plain_lines_elsewhere_when_something_changed_or_two_seconds_passed) {
  display screen(writer_, write_end_.get(), false);
  screen.live({"a 1"}, true, 10'000);
  EXPECT_EQ(written(), "a 1\n");
  screen.live({"a 2"}, false, 11'999);
  EXPECT_EQ(written(), "");
  screen.live({"a 3"}, false, 12'000);
  EXPECT_EQ(written(), "a 3\n");
  screen.live({"a 4"}, true, 12'001);
  EXPECT_EQ(written(), "a 4\n");
  screen.print("note");
  EXPECT_EQ(written(), "note\n");
  EXPECT_EQ(screen.width(), 0U);
}

TEST_F(displays, go_on_without_a_reader) {
  ::signal(SIGPIPE, SIG_IGN);
  read_end_.reset();
  display screen(writer_, write_end_.get(), false);
  screen.print("into the void");
  writer_.drain();
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  read_end_ = runtime::unique_fd(ends[0]);
  const runtime::unique_fd next(ends[1]);
  ASSERT_EQ(::dup2(next.get(), write_end_.get()), write_end_.get());
  screen.print("to another reader");
  EXPECT_EQ(written(), "to another reader\n") << "and nothing of before";
  ::signal(SIGPIPE, SIG_DFL);
}

// The pipe is full, and nobody reads.
TEST_F(displays, hold_nobody_up_whose_reader_stands_still) {
  display screen(writer_, write_end_.get(), true);
  const std::string line(1000, 'x');
  for (int i = 0; i < 1000; ++i) screen.print(line);
  EXPECT_TRUE(screen.is_behind());
  screen.live({"nobody sees this"}, true, 1);
  screen.print("the last");
  std::string all;
  for (char block[4096]; all.find("the last") == std::string::npos;) {
    pollfd some{.fd = read_end_.get(), .events = POLLIN, .revents = 0};
    ASSERT_GT(::poll(&some, 1, 10'000), 0);
    const auto n = ::read(read_end_.get(), block, sizeof block);
    if (n > 0) all.append(block, static_cast<std::size_t>(n));
  }
  EXPECT_EQ(all.size(), 1000 * (line.size() + 1) + std::string("the last\n").size());
  writer_.drain();
  EXPECT_FALSE(screen.is_behind());
  screen.live({"again"}, true, 2);
  EXPECT_EQ(written(), "again\n");
}

TEST_F(displays, take_away_all_rows_of_lines_that_are_longer_than_the_terminal) {
  display screen(writer_, write_end_.get(), true);
  screen.live({"\x1b[1m" + std::string(80, 'x') + "\x1b[0m", std::string(81, 'y'), ""}, true,
              0);
  written();
  screen.end_live();
  EXPECT_EQ(written(), "\r\x1b[4A\x1b[J") << "80 columns: one row, two, and an empty one";
  EXPECT_EQ(screen.height(), 0U) << "a pipe has not said";
}

}  // namespace
}  // namespace tidegate::launch
