#include "runtime/transport/desk.hpp"

#include <set>

#include <gtest/gtest.h>

namespace tidegate::runtime {
namespace {

class desk_test : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(own.open().ok());
    auto page = segment::open(own.name());
    ASSERT_TRUE(page) << page.error().message();
    seen = std::move(*page);
  }
  // As another process sees it.
  desk_view view() const { return desk_view(seen.data()); }

  desk own;
  segment seen;
};

TEST_F(desk_test, lends_each_slot_once_and_zeroed) {
  std::set<std::uint32_t> slots;
  while (!own.is_full()) slots.insert(own.take_slot());
  EXPECT_EQ(slots.size(), desk_view::slots);
  own.show_read(7, 1234);
  EXPECT_EQ(view().read(7).load(), 1234U);
  EXPECT_EQ(view().read(8).load(), 0U);
  own.give_back(7);
  ASSERT_FALSE(own.is_full());
  EXPECT_EQ(own.take_slot(), 7U);
  EXPECT_EQ(view().read(7).load(), 0U) << "another ring begins at 0";
}

TEST_F(desk_test, tells_each_sleep_from_the_last_and_whether_it_is_patient) {
  EXPECT_EQ(view().asleep().load(), 0U);
  own.sleep(false);
  const auto first = view().asleep().load();
  EXPECT_TRUE(own.is_asleep());
  own.rise();
  EXPECT_FALSE(own.is_asleep());
  EXPECT_EQ(view().asleep().load(), 0U);
  own.sleep(true);
  const auto second = view().asleep().load();
  EXPECT_EQ(first % 2, 0U);
  EXPECT_EQ(second % 2, 1U);
  EXPECT_NE(first / 2, second / 2);
}

}  // namespace
}  // namespace tidegate::runtime
