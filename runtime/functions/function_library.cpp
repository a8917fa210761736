#include "runtime/functions/function_library.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tidegate::runtime {

namespace {

// Adds up a number for each element.
template <class Value>
errc add_up(const function_chunk& chunk, function_results& results, const Value& value) {
  double sum = 0.0;
  for (const auto x : chunk.parameters) sum += value(x);
  results.combine = combine_kind::sum;
  results.count = 1;
  results.numbers[0] = sum;
  return errc::ok;
}

// The first of two that is not ahead of the other; a NaN stays.
template <class IsAhead>
errc choose(const function_chunk& chunk, function_results& results, combine_kind kind,
            double begin, const IsAhead& is_ahead) {
  auto found = begin;
  for (const auto x : chunk.parameters)
    if (std::isnan(x) || is_ahead(x, found)) found = x;
  results.combine = kind;
  results.count = 1;
  results.numbers[0] = found;
  return errc::ok;
}

errc count_above(const function_chunk& chunk, std::span<const double> arguments,
                 function_results& results) {
  const auto limit = arguments[0];
  if (std::isnan(limit)) return errc::invalid_argument;
  return add_up(chunk, results,
                [&](float x) { return std::fabs(double{x}) > limit ? 1.0 : 0.0; });
}

errc count_nonzero(const function_chunk& chunk, std::span<const double>,
                   function_results& results) {
  return add_up(chunk, results, [](float x) { return x != 0.0F ? 1.0 : 0.0; });
}

errc count_not_finite(const function_chunk& chunk, std::span<const double>,
                      function_results& results) {
  return add_up(chunk, results, [](float x) { return std::isfinite(x) ? 0.0 : 1.0; });
}

errc max(const function_chunk& chunk, std::span<const double>, function_results& results) {
  return choose(chunk, results, combine_kind::maximum, -std::numeric_limits<double>::infinity(),
                [](double x, double found) { return x > found; });
}

errc min(const function_chunk& chunk, std::span<const double>, function_results& results) {
  return choose(chunk, results, combine_kind::minimum, std::numeric_limits<double>::infinity(),
                [](double x, double found) { return x < found; });
}

errc sum(const function_chunk& chunk, std::span<const double>, function_results& results) {
  return add_up(chunk, results, [](float x) { return double{x}; });
}

errc sum_of_magnitudes(const function_chunk& chunk, std::span<const double>,
                       function_results& results) {
  return add_up(chunk, results, [](float x) { return std::fabs(double{x}); });
}

errc sum_of_squares(const function_chunk& chunk, std::span<const double>,
                    function_results& results) {
  return add_up(chunk, results, [](float x) { return double{x} * double{x}; });
}

constexpr library_function functions[] = {
    {.name = "count_above",
     .doc = "how many elements have a magnitude above the argument",
     .arguments = 1,
     .run = count_above},
    {.name = "count_nonzero", .doc = "how many elements are not zero", .run = count_nonzero},
    {.name = "count_not_finite",
     .doc = "how many elements are NaN or infinite",
     .run = count_not_finite},
    {.name = "max", .doc = "the largest element", .run = max},
    {.name = "min", .doc = "the smallest element", .run = min},
    {.name = "sum", .doc = "the sum of the elements", .run = sum},
    {.name = "sum_of_magnitudes",
     .doc = "the sum of the elements' magnitudes",
     .run = sum_of_magnitudes},
    {.name = "sum_of_squares",
     .doc = "the sum of the elements' squares",
     .run = sum_of_squares},
};

}  // namespace

std::span<const library_function> built_in_functions() noexcept {
  return functions;
}

std::string names_of_functions() {
  std::string names;
  for (const auto& known : functions)
    names += (names.empty() ? "" : ", ") + std::string(known.name);
  return names;
}

function_results run_function(const function_call& call, const function_chunk& chunk) {
  function_results results;
  const auto* const found =
      std::find_if(std::begin(functions), std::end(functions),
                   [&](const library_function& known) { return known.name == call.name; });
  if (found == std::end(functions))
    results.outcome = errc::not_found;
  else if (call.arguments.size() != found->arguments)
    results.outcome = errc::invalid_argument;
  else
    results.outcome = found->run(chunk, call.arguments, results);
  if (results.outcome != errc::ok) results.count = 0;
  return results;
}

}  // namespace tidegate::runtime
