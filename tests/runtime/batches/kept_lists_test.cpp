#include "runtime/batches/kept_lists.hpp"

#include <algorithm>
#include <deque>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/rng.hpp"
#include "tests/support/allocations.hpp"

namespace tidegate::runtime {
namespace {

// The code of a list is whatever words it has; each is told from the others by them.
struct some_list {
  some_list(std::uint64_t number, std::size_t words) : name{number, ~number}, code(words) {
    for (std::size_t i = 0; i < words; ++i) code[i] = mix64(number + i);
  }
  std::uint32_t ids() const { return static_cast<std::uint32_t>(code.size()); }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(code)); }

  list_name name;
  std::vector<std::uint64_t> code;
};

bool has(const kept_lists& lists, const some_list& list) {
  const auto found = lists.find(list.name, list.ids());
  return found &&
         std::equal(found->begin(), found->end(), list.bytes().begin(), list.bytes().end());
}
void keep(kept_lists& lists, const some_list& list) {
  lists.keep(list.name, list.ids(), list.bytes());
}

TEST(kept_lists, are_found_by_name_and_number_of_ids) {
  kept_lists lists;
  const some_list first(1, 10), second(2, 20);
  EXPECT_FALSE(has(lists, first));
  keep(lists, first);
  keep(lists, second);
  keep(lists, first);
  EXPECT_EQ(lists.size(), 2U);
  EXPECT_TRUE(has(lists, first));
  EXPECT_TRUE(has(lists, second));
  EXPECT_FALSE(lists.find(first.name, 11));
  lists.clear();
  EXPECT_FALSE(has(lists, first));
  EXPECT_EQ(lists.bytes(), 0U);
}

TEST(kept_lists, keep_no_list_without_ids) {
  kept_lists lists;
  lists.keep(list_name{.low = 1, .high = 1}, 0, {});
  EXPECT_EQ(lists.size(), 0U);
}

// Those that count together for no more than the bound, from the latest on, are there: all of
// them but where the ring has its seam.
TEST(kept_lists, the_oldest_go_first_and_memory_is_bounded) {
  constexpr std::uint64_t bound = 20'000;
  kept_lists lists(bound);
  std::deque<some_list> all;
  rng random(1);
  for (std::uint64_t number = 1; number <= 3000; ++number) {
    all.push_front(some_list(number, 1 + random.below(number % 100 == 0 ? 1500 : 200)));
    keep(lists, all.front());
    if (all.size() > 60) all.pop_back();
    EXPECT_LE(lists.bytes(), bound);
    std::size_t kept = 0;
    while (kept < all.size() && has(lists, all[kept])) ++kept;
    EXPECT_EQ(kept, lists.size());
    for (auto i = kept; i < all.size(); ++i) EXPECT_FALSE(has(lists, all[i]));
    if (number % 100 > 60) {
      EXPECT_GE(lists.size(), 6U);
    }
  }
}

TEST(kept_lists, one_that_is_larger_than_the_bound_is_not_kept) {
  kept_lists lists(2000);
  const some_list small(1, 10), large(2, 200);
  keep(lists, small);
  keep(lists, large);
  EXPECT_TRUE(has(lists, small));
  EXPECT_FALSE(has(lists, large));
}

TEST(kept_lists, allocate_nothing_once_warm) {
  kept_lists lists(20'000);
  std::vector<some_list> all;
  for (std::uint64_t number = 0; number < 200; ++number)
    all.emplace_back(number, 10 + number % 7);
  for (std::size_t i = 0; i < 100; ++i) keep(lists, all[i]);
  const auto before = tests::allocations();
  for (std::size_t i = 100; i < 200; ++i) keep(lists, all[i]);
  EXPECT_EQ(tests::allocations(), before);
  EXPECT_TRUE(has(lists, all.back()));
}

}  // namespace
}  // namespace tidegate::runtime
