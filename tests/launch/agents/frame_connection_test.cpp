#include "launch/agents/frame_connection.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <gtest/gtest.h>

namespace tidegate::launch {
namespace {

using texts = std::vector<std::string>;

struct two_ends {
  two_ends() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    near = frame_connection(runtime::unique_fd(ends[0]));
    far = runtime::unique_fd(ends[1]);
  }
  void write(const std::string& bytes) const {
    EXPECT_EQ(::send(far.get(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
  }

  frame_connection near;
  runtime::unique_fd far;
};

TEST(frame_connection, takes_texts_whole_however_they_arrive) {
  two_ends ends;
  texts got;
  const auto bytes = std::string("\3\0\0\0one\0\0\0\0\3\0\0\0two", 18);
  for (const char byte : bytes) {
    ends.write(std::string(1, byte));
    EXPECT_TRUE(ends.near.read(got));
  }
  EXPECT_EQ(got, (texts{"one", "", "two"}));
}

TEST(frame_connection, sends_more_than_there_is_room_for) {
  two_ends ends;
  frame_connection other(std::move(ends.far));
  const std::string large(std::size_t{3} << 20U, 'x');
  ends.near.send(large);
  ends.near.send("last");
  EXPECT_NE(ends.near.awaits() & POLLOUT, 0);
  texts got;
  texts none;
  while (got.size() < 2) {
    ASSERT_TRUE(other.read(got));
    ASSERT_TRUE(ends.near.read(none));
  }
  EXPECT_EQ(got, (texts{large, "last"}));
  EXPECT_EQ(ends.near.awaits() & POLLOUT, 0);
}

TEST(frame_connection, keeps_no_more_than_is_unsent_where_there_is_always_something) {
  two_ends ends;
  frame_connection other(std::move(ends.far));
  const std::string large(std::size_t{1} << 20U, 'x');
  texts got;
  texts none;
  // The next text is there before the one before has left.
  for (int i = 0; i < 100; ++i) {
    ends.near.send(large);
    while (got.size() < static_cast<std::size_t>(i)) {
      ASSERT_TRUE(other.read(got));
      ASSERT_TRUE(ends.near.read(none));
    }
    EXPECT_LT(ends.near.kept_bytes(), 5 * large.size());
  }
}

TEST(frame_connection, says_that_a_part_of_a_text_has_come) {
  two_ends ends;
  texts got;
  EXPECT_FALSE(ends.near.take_sign());
  ends.write(std::string("\3\0\0\0o", 5));
  EXPECT_TRUE(ends.near.read(got));
  EXPECT_TRUE(ends.near.take_sign());
  EXPECT_FALSE(ends.near.take_sign());
}

TEST(frame_connection, hands_over_what_came_before_the_end) {
  two_ends ends;
  ends.write(std::string("\2\0\0\0ab\2\0\0\0c", 11));
  ends.far.reset();
  texts got;
  EXPECT_FALSE(ends.near.read(got));
  EXPECT_EQ(got, texts{"ab"});
  EXPECT_FALSE(ends.near.is_open());
  EXPECT_FALSE(ends.near.read(got));
  ends.near.send("to nobody");
}

TEST(frame_connection, is_closed_when_a_text_would_be_too_long) {
  two_ends ends;
  ends.write("\xff\xff\xff\x7f");
  texts got;
  EXPECT_FALSE(ends.near.read(got));
  EXPECT_TRUE(got.empty());
}

}  // namespace
}  // namespace tidegate::launch
