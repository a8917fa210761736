#include "runtime/transport/ring_cursors.hpp"

#include <set>

#include <gtest/gtest.h>

namespace tidegate::runtime {
namespace {

class ring_cursors_test : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(own.open().ok());
    auto page = segment::open(own.name());
    ASSERT_TRUE(page) << page.error().message();
    seen = std::move(*page);
  }
  // As another process sees it.
  cursor_page_view view() const { return cursor_page_view(seen.data()); }

  cursor_page own;
  segment seen;
};

TEST_F(ring_cursors_test, lends_each_slot_once_and_zeroed) {
  std::set<std::uint32_t> slots;
  while (!own.is_full()) slots.insert(own.take_slot());
  EXPECT_EQ(slots.size(), cursor_page_view::slots);
  own.show_read(7, 1234);
  EXPECT_EQ(view().read(7).load(), 1234U);
  EXPECT_EQ(view().read(8).load(), 0U);
  own.give_back(7);
  ASSERT_FALSE(own.is_full());
  EXPECT_EQ(own.take_slot(), 7U);
  EXPECT_EQ(view().read(7).load(), 0U) << "another ring begins at 0";
}

TEST_F(ring_cursors_test, tells_each_sleep_from_the_last_and_whether_it_is_patient) {
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
