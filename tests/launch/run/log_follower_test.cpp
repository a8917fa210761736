#include "launch/run/log_follower.hpp"

#include <fstream>
#include <poll.h>

#include <gmock/gmock.h>

#include "tests/support/temporary.hpp"

namespace tidegate::launch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class log_follower_test : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path(name); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::app) << text;
  }
  bool has_news() {
    pollfd look{.fd = follower_->fd(), .events = POLLIN, .revents = 0};
    return ::poll(&look, 1, 0) == 1;
  }

  tests::temporary_folder folder_;
  runtime::expected<log_follower> follower_ = log_follower::in(folder_.path(""));
};

TEST_F(log_follower_test, shows_lines_once_they_are_whole) {
  follower_->follow(path("0.log"), "0");
  follower_->follow(path("1.log"), "1");
  EXPECT_THAT(follower_->take_lines(), IsEmpty());
  EXPECT_FALSE(has_news());
  write("0.log", "first\nsec");
  write("1.log", "other\n");
  EXPECT_TRUE(has_news());
  EXPECT_THAT(follower_->take_lines(), ElementsAre("[0] first", "[1] other"));
  EXPECT_FALSE(has_news());
  write("0.log", "ond\n\n");
  EXPECT_THAT(follower_->take_lines(), ElementsAre("[0] second", "[0] "));
}

TEST_F(log_follower_test, begins_at_the_end_of_what_is_there) {
  write("0.log", "of an epoch before\n");
  follower_->follow(path("0.log"), "0");
  write("0.log", "now\n");
  follower_->follow(path("0.log"), "0");  // its worker is started again
  EXPECT_THAT(follower_->take_lines(), ElementsAre("[0] now"));
}

TEST_F(log_follower_test, shows_what_has_no_end_at_the_end) {
  follower_->follow(path("0.log"), "0");
  write("0.log", "whole\nhalf");
  EXPECT_THAT(follower_->take_rest(), ElementsAre("[0] whole", "[0] half"));
  EXPECT_THAT(follower_->take_rest(), IsEmpty());
}

TEST_F(log_follower_test, cuts_lines_without_an_end) {
  follower_->follow(path("0.log"), "0");
  write("0.log", std::string(100'000, 'x'));
  const auto lines = follower_->take_lines();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].size(), 65536U + 4);
}

TEST(log_follower, needs_a_folder) {
  const auto none = log_follower::in("/nowhere/at/all");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message(), testing::HasSubstr("/nowhere/at/all"));
}

}  // namespace
}  // namespace tidegate::launch
