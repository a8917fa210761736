#include "runtime/functions/built_in.hpp"

#include <cmath>
#include <cstdint>
#include <limits>

namespace tidegate::runtime {

namespace {

constexpr std::int32_t accepted = 0;
constexpr std::int32_t refused = 1;

std::span<const float> elements_of(const tidegate_chunk* chunk) {
  return {chunk->parameters, chunk->elements};
}

// Adds up a number for each element.
template <class Value>
std::int32_t add_up(const tidegate_chunk* chunk, double* results, const Value& value) {
  double sum = 0.0;
  for (const auto x : elements_of(chunk)) sum += value(x);
  results[0] = sum;
  return accepted;
}

// The element that is ahead of all others; a NaN stays.
template <class IsAhead>
std::int32_t choose(const tidegate_chunk* chunk, double* results, double begin,
                    const IsAhead& is_ahead) {
  auto found = begin;
  for (const auto x : elements_of(chunk))
    if (std::isnan(x) || is_ahead(x, found)) found = x;
  results[0] = found;
  return accepted;
}

std::int32_t count_above(const tidegate_chunk* chunk, const double* arguments,
                         double* results) {
  const auto limit = arguments[0];
  if (std::isnan(limit)) return refused;
  return add_up(chunk, results,
                [&](float x) { return std::fabs(double{x}) > limit ? 1.0 : 0.0; });
}

std::int32_t count_nonzero(const tidegate_chunk* chunk, const double*, double* results) {
  return add_up(chunk, results, [](float x) { return x != 0.0F ? 1.0 : 0.0; });
}

std::int32_t count_not_finite(const tidegate_chunk* chunk, const double*, double* results) {
  return add_up(chunk, results, [](float x) { return std::isfinite(x) ? 0.0 : 1.0; });
}

std::int32_t count_rows(const tidegate_chunk* chunk, const double*, double* results) {
  if (chunk->dim == 0) return refused;
  results[0] = static_cast<double>(chunk->elements / chunk->dim);
  return accepted;
}

std::int32_t max(const tidegate_chunk* chunk, const double*, double* results) {
  return choose(chunk, results, -std::numeric_limits<double>::infinity(),
                [](double x, double found) { return x > found; });
}

std::int32_t min(const tidegate_chunk* chunk, const double*, double* results) {
  return choose(chunk, results, std::numeric_limits<double>::infinity(),
                [](double x, double found) { return x < found; });
}

std::int32_t sum(const tidegate_chunk* chunk, const double*, double* results) {
  return add_up(chunk, results, [](float x) { return double{x}; });
}

std::int32_t sum_of_magnitudes(const tidegate_chunk* chunk, const double*, double* results) {
  return add_up(chunk, results, [](float x) { return std::fabs(double{x}); });
}

std::int32_t sum_of_squares(const tidegate_chunk* chunk, const double*, double* results) {
  return add_up(chunk, results, [](float x) { return double{x} * double{x}; });
}

constexpr tidegate_function function(const char* name, std::uint32_t combine,
                                     decltype(tidegate_function::run) run,
                                     std::uint32_t arguments = 0) {
  return {.name = name, .arguments = arguments, .results = 1, .combine = combine, .run = run};
}

constexpr tidegate_function functions[] = {
    function("count_above", TIDEGATE_SUM, count_above, 1),
    function("count_nonzero", TIDEGATE_SUM, count_nonzero),
    function("count_not_finite", TIDEGATE_SUM, count_not_finite),
    function("count_rows", TIDEGATE_SUM, count_rows),
    function("max", TIDEGATE_MAXIMUM, max),
    function("min", TIDEGATE_MINIMUM, min),
    function("sum", TIDEGATE_SUM, sum),
    function("sum_of_magnitudes", TIDEGATE_SUM, sum_of_magnitudes),
    function("sum_of_squares", TIDEGATE_SUM, sum_of_squares),
};

}  // namespace

std::span<const tidegate_function> built_in_functions() noexcept {
  return functions;
}

}  // namespace tidegate::runtime
