// How the gradients of workers become the one that an optimizer steps with. Plain values, any
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace tidegate::runtime {

// Element by element, of those that were pushed, along the tree of update.hpp. `any` and `all`
// take a number other than 0 as true: `any` is the first such number or 0, `all` is 0 or the
// last number. Comparisons with a NaN are false, so whether it shows depends on its rank.
// Numbers are in journals, so they are never used again.
enum class reduction : std::uint8_t {
  of_job = 0,  // the mean or the sum, as the job says
  mean = 1,
  sum = 2,
  max = 3,
  min = 4,
  product = 5,
  any = 6,
  all = 7,
  plugin = 8,  // by the rule of a plugin, which optimizer_options::reduce_rule names
};

inline constexpr std::pair<std::string_view, reduction> reduction_words[] = {
    {"mean", reduction::mean}, {"sum", reduction::sum},         {"max", reduction::max},
    {"min", reduction::min},   {"product", reduction::product}, {"or", reduction::any},
    {"and", reduction::all}};
inline constexpr std::string_view reduction_names =
    "mean, sum, max, min, product, or, and, plugin:NAME";

// Returns true if gradients are added up, and a step may scale their sum.
constexpr bool is_sum(reduction by) noexcept {
  return by <= reduction::sum;
}

// Returns the reduction of this number, as journals have it, or of this name. The word of a
// plugin's is read by rule_of_word().
constexpr std::optional<reduction> find_reduction(std::uint64_t number) noexcept {
  if (number > static_cast<std::uint64_t>(reduction::plugin)) return std::nullopt;
  return static_cast<reduction>(number);
}
constexpr std::optional<reduction> find_reduction(std::string_view name) noexcept {
  for (const auto& [word, kind] : reduction_words)
    if (word == name) return kind;
  return std::nullopt;
}
// Returns its name, empty for the job's and a plugin's.
constexpr std::string_view reduction_name(reduction by) noexcept {
  for (const auto& [word, kind] : reduction_words)
    if (kind == by) return word;
  return {};
}

}  // namespace tidegate::runtime
