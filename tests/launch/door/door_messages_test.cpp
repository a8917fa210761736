#include "launch/door/door_messages.hpp"

#include <gtest/gtest.h>

namespace tidegate::launch {
namespace {

using messages = std::vector<door_message>;

TEST(door_messages, come_whole_however_they_are_cut) {
  const auto text = door_text(door_word::input, "abc") + door_text(door_word::input_end) +
                    door_text(door_word::ended, std::string(1, '\x89'));
  const messages sent = {{door_word::input, "abc"},
                         {door_word::input_end, ""},
                         {door_word::ended, std::string(1, '\x89')}};
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    messages got;
    auto arrived = text.substr(0, cut);
    EXPECT_TRUE(take_door_messages(arrived, got).ok());
    arrived += text.substr(cut);
    EXPECT_TRUE(take_door_messages(arrived, got).ok());
    EXPECT_EQ(got, sent) << cut;
    EXPECT_TRUE(arrived.empty());
  }
}

TEST(door_messages, that_are_long_come_in_parts) {
  const std::string bytes(3 * door_message_bytes_max / 2, 'x');
  auto text = door_text(door_word::output, bytes);
  messages got;
  EXPECT_TRUE(take_door_messages(text, got).ok());
  ASSERT_EQ(got.size(), 2U);
  EXPECT_EQ(got[0].bytes + got[1].bytes, bytes);
}

TEST(door_messages, that_are_none_are_refused_after_those_before) {
  for (const auto& wrong : {std::string("GET / HTTP/1.1"), std::string("I\xFF\xFF\xFF\xFF")}) {
    auto text = door_text(door_word::input, "abc") + wrong;
    messages got;
    EXPECT_EQ(take_door_messages(text, got).code(), runtime::errc::corrupt);
    EXPECT_EQ(got.size(), 1U);
  }
}

}  // namespace
}  // namespace tidegate::launch
