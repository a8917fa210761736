#include "policies/worker/known_lists.hpp"

#include <gtest/gtest.h>

namespace tidegate::policies {
namespace {

constexpr std::uint32_t user = 3;  // a table
constexpr std::uint32_t some_part = 5;

sent_list some_list(std::uint64_t number, std::uint64_t bytes = 100) {
  return {.name = {number, number}, .bytes = bytes};
}

TEST(known_lists, is_known_when_what_came_with_it_was_taken) {
  known_lists lists;
  EXPECT_FALSE(lists.pull(user, some_part, some_list(1)));
  EXPECT_FALSE(lists.push(user, some_part, 4, some_list(1))) << "nobody has answered";
  lists.pull_taken(user, some_part);
  EXPECT_TRUE(lists.push(user, some_part, 4, some_list(1)));
  EXPECT_FALSE(lists.push(user, some_part + 1, 4, some_list(1))) << "another part";
  EXPECT_FALSE(lists.push(user + 1, some_part, 4, some_list(1))) << "another table";
  EXPECT_FALSE(lists.push(user, some_part, 5, some_list(2)));
  lists.push_taken(user, some_part, 4);
  EXPECT_FALSE(lists.pull(user, some_part, some_list(2)));
  lists.push_taken(user, some_part, 5);
  EXPECT_TRUE(lists.pull(user, some_part, some_list(2)));
}

TEST(known_lists, a_late_acknowledgement_is_of_no_later_push) {
  known_lists lists;
  lists.push(user, some_part, 4, some_list(1));
  lists.push(user, some_part, 4 + runtime::limits::clocks_in_flight_max, some_list(2));
  lists.push_taken(user, some_part, 4);
  EXPECT_EQ(lists.bytes(user, some_part), 0U);
  lists.push_taken(user, some_part + 1, 4);  // of a part that was never pushed to
  lists.pull_taken(user, some_part);
}

TEST(known_lists, is_known_no_more_when_its_name_was_refused) {
  known_lists lists;
  lists.pull(user, some_part, some_list(1));
  lists.pull_taken(user, some_part);
  EXPECT_TRUE(lists.push(user, some_part, 4, some_list(1)));
  lists.push_refused(user, some_part, 4);
  EXPECT_FALSE(lists.push(user, some_part, 4, some_list(1)));
  lists.push_taken(user, some_part, 4);
  EXPECT_TRUE(lists.pull(user, some_part, some_list(1)));
  lists.pull_refused(user, some_part);
  EXPECT_FALSE(lists.pull(user, some_part, some_list(1)));
  EXPECT_EQ(lists.bytes(user, some_part), 0U);
}

TEST(known_lists, is_known_to_nobody_who_takes_the_place_of_the_part) {
  known_lists lists;
  for (const auto of : {some_part, some_part + 1}) {
    lists.pull(user, of, some_list(1));
    lists.pull_taken(user, of);
  }
  lists.forget(user, some_part);
  EXPECT_FALSE(lists.pull(user, some_part, some_list(1)));
  EXPECT_TRUE(lists.pull(user, some_part + 1, some_list(1)));
}

TEST(known_lists, the_oldest_are_forgotten_where_they_are_too_many) {
  known_lists lists(1000);
  for (std::uint64_t number = 1; number <= 11; ++number) {
    lists.pull(user, some_part, some_list(number));
    lists.pull_taken(user, some_part);
  }
  EXPECT_FALSE(lists.pull(user, some_part, some_list(1)));
  EXPECT_TRUE(lists.pull(user, some_part, some_list(2)));
  lists.pull(user, some_part, some_list(12, 901));
  lists.pull_taken(user, some_part);
  EXPECT_EQ(lists.bytes(user, some_part), 901U);
  EXPECT_FALSE(lists.pull(user, some_part, some_list(11)));
  lists.pull(user, some_part, some_list(13, 1001));
  lists.pull_taken(user, some_part);
  EXPECT_FALSE(lists.pull(user, some_part, some_list(13, 1001)))
      << "it is larger than all that is kept";
  EXPECT_TRUE(lists.pull(user, some_part, some_list(12, 901)));
}

}  // namespace
}  // namespace tidegate::policies
