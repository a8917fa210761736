#include "policies/placement/ranges.hpp"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "runtime/base/rng.hpp"

namespace tidegate::policies {
namespace {

using runtime::element_range;
using ranges = std::vector<element_range>;

// Chunks of ten elements; the last has five.
table_places places(std::uint64_t elements = 35) {
  table_places all;
  for (std::uint64_t first = 0; first < elements; first += 10)
    all.push_back({.chunk = static_cast<std::uint32_t>(first / 10),
                   .shard = 0,
                   .first = first,
                   .elements = std::min<std::uint64_t>(10, elements - first)});
  return all;
}

std::vector<std::uint32_t> chunks(const ranges& of) {
  std::vector<std::uint32_t> found{77};  // is replaced
  find_chunks(places(), of, found);
  return found;
}

ranges gaps(const ranges& of) {
  ranges found;
  visit_gaps(places(), of, [&](const element_range& gap) { found.push_back(gap); });
  return found;
}

using list = std::vector<std::uint32_t>;

TEST(ranges, find_the_chunks_that_they_touch) {
  EXPECT_EQ(chunks({}), list());
  EXPECT_EQ(chunks({{0, 35}}), (list{0, 1, 2, 3}));
  EXPECT_EQ(chunks({{10, 20}}), list{1});
  EXPECT_EQ(chunks({{9, 10}}), list{0});
  EXPECT_EQ(chunks({{9, 11}}), (list{0, 1}));
  EXPECT_EQ(chunks({{1, 2}, {4, 5}, {34, 35}}), (list{0, 3}));
  EXPECT_EQ(chunks({{5, 25}, {26, 27}}), (list{0, 1, 2}));
}

TEST(ranges, leave_gaps_in_chunks_that_they_cover_in_part) {
  EXPECT_EQ(gaps({}), ranges());
  EXPECT_EQ(gaps({{0, 35}}), ranges());
  EXPECT_EQ(gaps({{10, 20}}), ranges());
  EXPECT_EQ(gaps({{12, 15}}), (ranges{{10, 12}, {15, 20}}));
  EXPECT_EQ(gaps({{12, 15}, {15, 18}}), (ranges{{10, 12}, {18, 20}}));
  EXPECT_EQ(gaps({{8, 31}}), (ranges{{0, 8}, {31, 35}}));
  EXPECT_EQ(gaps({{1, 2}, {4, 5}, {34, 35}}), (ranges{{0, 1}, {2, 4}, {5, 10}, {30, 34}}));
}

// Against one element at a time.
TEST(ranges, agree_with_a_list_of_elements) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    runtime::rng random(seed);
    const auto all = places(1 + random.below(120));
    const auto elements = all.back().first + all.back().elements;
    ranges of;
    for (auto first = random.below(elements); first < elements;) {
      const auto last = first + 1 + random.below(std::min<std::uint64_t>(elements - first, 25));
      of.push_back({first, last});
      first = last + random.below(20);
    }
    ASSERT_TRUE(check_ranges(of, elements).ok());
    std::vector<bool> covered(elements), is_gap(elements);
    for (const auto& range : of)
      for (auto i = range.first; i < range.last; ++i) covered[i] = true;
    visit_gaps(all, of, [&](const element_range& gap) {
      for (auto i = gap.first; i < gap.last; ++i) {
        ASSERT_FALSE(covered[i] || is_gap[i]);
        is_gap[i] = true;
      }
    });
    list found;
    find_chunks(all, of, found);
    for (const auto& place : all) {
      const auto touched = std::any_of(
          covered.begin() + static_cast<std::ptrdiff_t>(place.first),
          covered.begin() + static_cast<std::ptrdiff_t>(place.first + place.elements),
          [](bool is) { return is; });
      ASSERT_EQ(std::count(found.begin(), found.end(), place.chunk), touched ? 1 : 0);
      for (auto i = place.first; touched && i < place.first + place.elements; ++i)
        ASSERT_TRUE(covered[i] || is_gap[i]) << "element " << i << ", seed " << seed;
    }
    EXPECT_EQ(elements_of(of),
              static_cast<std::uint64_t>(std::count(covered.begin(), covered.end(), true)));
  }
}

TEST(ranges, that_are_wrong_are_named) {
  const auto text = [](const ranges& of) { return check_ranges(of, 35).message(); };
  EXPECT_TRUE(check_ranges(ranges{}, 35).ok());
  EXPECT_EQ(text({{0, 5}, {7, 7}}), "range 1, [7, 7), has no elements");
  EXPECT_EQ(text({{5, 3}}), "range 0, [5, 3), has no elements");
  EXPECT_EQ(text({{0, 36}}), "range 0, [0, 36), ends beyond the table's 35");
  EXPECT_EQ(text({{0, 6}, {5, 9}}),
            "range 1, [5, 9), begins before the end of 6 of the one before; ranges ascend and "
            "do not overlap");
  EXPECT_EQ(check_ranges(ranges{{10, 20}, {0, 5}}, 35).code(), runtime::errc::invalid_argument);
  EXPECT_FALSE(check_ranges(ranges{{0, ~std::uint64_t{0}}}, 35).ok());
}

}  // namespace
}  // namespace tidegate::policies
