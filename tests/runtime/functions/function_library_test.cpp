// What the built-in functions find in a chunk.
#include "runtime/functions/function_library.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tidegate::runtime {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

double result_of(const std::string& name, const std::vector<float>& parameters,
                 const std::vector<double>& arguments = {}) {
  const auto results = function_library::built_in().run({.name = name, .arguments = arguments},
                                                        {.parameters = parameters, .first = 0});
  EXPECT_EQ(results.outcome, errc::ok) << name;
  EXPECT_EQ(results.count, 1U) << name;
  return results.numbers[0];
}

TEST(function_library, finds_sums_extremes_and_counts) {
  const std::vector<float> chunk{0.0F, -2.5F, 1.0F, -0.0F, 3.0F};
  EXPECT_EQ(result_of("sum", chunk), 1.5);
  EXPECT_EQ(result_of("sum_of_magnitudes", chunk), 6.5);
  EXPECT_EQ(result_of("sum_of_squares", chunk), 16.25);
  EXPECT_EQ(result_of("min", chunk), -2.5);
  EXPECT_EQ(result_of("max", chunk), 3.0);
  EXPECT_EQ(result_of("count_nonzero", chunk), 3);
  EXPECT_EQ(result_of("count_above", chunk, {1.0}), 2);
  EXPECT_EQ(result_of("count_not_finite", chunk), 0);
}

TEST(function_library, adds_in_double_precision) {
  EXPECT_EQ(result_of("sum", std::vector<float>(3'000'000, 16'777'216.0F)), 3e6 * 16'777'216.0);
}

TEST(function_library, keeps_what_is_not_a_number) {
  for (const auto* name : {"sum", "min", "max", "sum_of_squares"})
    EXPECT_TRUE(std::isnan(result_of(name, {1.0F, nan, 2.0F}))) << name;
  EXPECT_EQ(result_of("max", {1.0F, infinity}), infinity);
  EXPECT_EQ(result_of("count_not_finite", {nan, -infinity, 1.0F}), 2);
  EXPECT_EQ(result_of("count_nonzero", {nan, 0.0F}), 1);
}

TEST(function_library, counts_rows) {
  const std::vector<float> values(6, 1.0F);
  const std::vector<std::uint64_t> ids{3, 7};
  const auto& library = function_library::built_in();
  const function_chunk rows{.parameters = values, .ids = ids, .dim = 3};
  EXPECT_EQ(library.run({.name = "count_rows", .arguments = {}}, rows).numbers[0], 2);
  EXPECT_EQ(
      library.run({.name = "count_rows", .arguments = {}}, {.parameters = values}).outcome,
      errc::invalid_argument);
}

TEST(function_library, finds_in_no_rows_what_changes_nothing) {
  const auto of_none = [](const std::string& name, const std::vector<double>& arguments = {}) {
    return function_library::built_in().run({.name = name, .arguments = arguments},
                                            {.parameters = {}, .dim = 3});
  };
  EXPECT_EQ(of_none("sum").numbers[0], 0);
  EXPECT_EQ(of_none("sum").count, 1U);
  EXPECT_EQ(of_none("count_rows").numbers[0], 0);
  EXPECT_EQ(of_none("min").numbers[0], double{infinity});
  EXPECT_EQ(of_none("max").numbers[0], -double{infinity});
  EXPECT_EQ(of_none("sum", {1.0}).outcome, errc::invalid_argument);
  EXPECT_EQ(of_none("median").outcome, errc::not_found);
  const std::vector<float> single{2.5F};
  for (const auto* const name : {"sum", "min", "max"}) {
    auto all = function_library::built_in().run({.name = name, .arguments = {}},
                                                {.parameters = single});
    ASSERT_TRUE(combine(all, of_none(name)));
    EXPECT_EQ(all.numbers[0], 2.5) << name;
  }
}

TEST(function_library, says_what_it_cannot_run) {
  const std::vector<float> chunk{1.0F};
  const auto outcome = [&](const std::string& name, const std::vector<double>& arguments) {
    return function_library::built_in()
        .run({.name = name, .arguments = arguments}, {.parameters = chunk})
        .outcome;
  };
  EXPECT_EQ(outcome("median", {}), errc::not_found);
  EXPECT_EQ(outcome("", {}), errc::not_found);
  EXPECT_EQ(outcome("sum", {1.0}), errc::invalid_argument);
  EXPECT_EQ(outcome("count_above", {}), errc::invalid_argument);
  EXPECT_EQ(outcome("count_above", {double{nan}}), errc::invalid_argument);
  EXPECT_NE(function_library::built_in().names().find("count_above, count_nonzero"),
            std::string::npos);
}

}  // namespace
}  // namespace tidegate::runtime
