// Calls and results of functions survive the wire, and bytes that are neither are told.
#include "runtime/functions/call_wire.hpp"

#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>

namespace tidegate::runtime {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

TEST(call_wire, carries_a_name_and_numbers) {
  const std::string name(function_name_max, 'n');
  const std::vector<double> numbers(call_numbers_max, -0.1);
  call_wire wire;
  encode({.name = name, .arguments = numbers}, wire);
  const auto all = decode_call(wire);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->view().name, name);
  EXPECT_THAT(all->view().arguments, ElementsAreArray(numbers));
  encode(function_call{}, wire);
  const auto none = decode_call(wire);
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->view().name.empty() && none->view().arguments.empty());
}

TEST(call_wire, carries_results_or_why_there_are_none) {
  call_wire wire;
  function_results results{.combine = combine_kind::maximum, .count = 2};
  results.numbers = {1.5, -std::numeric_limits<double>::infinity()};
  encode(results, wire);
  const auto got = decode_results(wire);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->combine, combine_kind::maximum);
  EXPECT_THAT(got->values(), ElementsAre(1.5, -std::numeric_limits<double>::infinity()));
  encode(function_results{.outcome = errc::not_found}, wire);
  EXPECT_EQ(decode_results(wire)->outcome, errc::not_found);
}

TEST(call_wire, refuses_what_nobody_has_written) {
  call_wire wire{};
  EXPECT_FALSE(decode_call(std::span(wire).first(wire.size() - 1)));
  wire[0] = std::byte{function_name_max + 1};
  EXPECT_FALSE(decode_call(wire));
  EXPECT_FALSE(decode_results(wire));
  wire[0] = std::byte{0};
  wire[1] = std::byte{call_numbers_max + 1};
  EXPECT_FALSE(decode_call(wire));
  EXPECT_FALSE(decode_results(wire));
}

TEST(call_wire, combines_results_of_chunks) {
  const auto combined = [](combine_kind kind, std::vector<double> values) {
    function_results all{.combine = kind, .count = 1};
    all.numbers[0] = values.front();
    for (std::size_t i = 1; i < values.size(); ++i) {
      function_results next{.combine = kind, .count = 1};
      next.numbers[0] = values[i];
      EXPECT_TRUE(combine(all, next));
    }
    return all.numbers[0];
  };
  EXPECT_EQ(combined(combine_kind::sum, {1, 2, 4}), 7);
  EXPECT_EQ(combined(combine_kind::product, {3, 2, 4}), 24);
  EXPECT_EQ(combined(combine_kind::minimum, {3, -2, 4}), -2);
  EXPECT_EQ(combined(combine_kind::maximum, {3, 5, 4}), 5);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const auto kind : {combine_kind::sum, combine_kind::minimum, combine_kind::maximum}) {
    const auto first = combined(kind, {nan, 1}), later = combined(kind, {1, nan, 2});
    EXPECT_NE(first, first);
    EXPECT_NE(later, later);
  }
}

TEST(call_wire, keeps_the_first_outcome_that_is_not_ok) {
  function_results all{.combine = combine_kind::sum, .count = 1};
  EXPECT_FALSE(combine(all, {.combine = combine_kind::maximum, .count = 1}));
  EXPECT_FALSE(combine(all, {.combine = combine_kind::sum, .count = 2}));
  EXPECT_TRUE(combine(all, {.outcome = errc::invalid_argument}));
  EXPECT_TRUE(combine(all, {.combine = combine_kind::sum, .count = 1}));
  EXPECT_EQ(all.outcome, errc::invalid_argument);
}

}  // namespace
}  // namespace tidegate::runtime
