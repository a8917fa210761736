// All optimizers, by kind and by name. Constant data, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/assert.hpp"
#include "runtime/optimizers/adagrad.hpp"
#include "runtime/optimizers/adam.hpp"
#include "runtime/optimizers/adamw.hpp"
#include "runtime/optimizers/assign.hpp"
#include "runtime/optimizers/list.hpp"
#include "runtime/optimizers/momentum.hpp"
#include "runtime/optimizers/nesterov.hpp"
#include "runtime/optimizers/of_plugins.hpp"
#include "runtime/optimizers/of_rows.hpp"
#include "runtime/optimizers/optimizer.hpp"
#include "runtime/optimizers/proximal.hpp"
#include "runtime/optimizers/sgd.hpp"

namespace tidegate::runtime {

#define TIDEGATE_TRAITS(name, number) optimizers::name::traits(),
inline constexpr optimizer_traits dense_optimizers[] = {TIDEGATE_OPTIMIZERS(TIDEGATE_TRAITS)};
inline constexpr optimizer_traits optimizers_known[] = {
    TIDEGATE_OPTIMIZERS(TIDEGATE_TRAITS) TIDEGATE_ROW_OPTIMIZERS(TIDEGATE_TRAITS)
#undef TIDEGATE_TRAITS
};
inline constexpr optimizer_traits plugin_traits = optimizers::plugin::traits();

// Returns the optimizer of this number, as journals have it, or of this name. Of a plugin it is
// any "plugin:NAME", whose rule rule_of_word() reads.
std::optional<optimizer_kind> find_optimizer(std::uint64_t number) noexcept;
std::optional<optimizer_kind> find_optimizer(std::string_view name) noexcept;

// Calls visitor(T()) with the class T of this optimizer, which is one of dense tables.
template <class Visitor>
decltype(auto) visit_optimizer(optimizer_kind kind, const Visitor& visitor) {
  switch (kind) {
#define TIDEGATE_CASE(name, number) \
  case optimizer_kind::name:        \
    return visitor(optimizers::name());
    TIDEGATE_OPTIMIZERS(TIDEGATE_CASE)
#undef TIDEGATE_CASE
    default:
      break;
  }
  TIDEGATE_ASSERT(false, "an optimizer of dense tables");
  return visitor(optimizers::sgd());
}

constexpr const optimizer_traits& traits_of(optimizer_kind kind) noexcept {
  for (const auto& traits : optimizers_known)
    if (traits.kind == kind) return traits;
  return kind == optimizer_kind::plugin ? plugin_traits : optimizers_known[0];
}

// Returns the number of arrays of state that the optimizer keeps, each as large as the
// parameters.
constexpr std::uint32_t state_arrays(const optimizer_options& options) noexcept {
  return options.kind == optimizer_kind::plugin ? options.rule_states
                                                : traits_of(options.kind).state_arrays;
}

// Returns true if a dense table can have the optimizer.
constexpr bool steps_elements(optimizer_kind kind) noexcept {
  if (kind == optimizer_kind::plugin) return true;
  for (const auto& traits : dense_optimizers)
    if (traits.kind == kind) return true;
  return false;
}

constexpr std::string_view optimizer_name(optimizer_kind kind) noexcept {
  return traits_of(kind).name;
}

// Returns the options of a step of this clock: with the learning rate that the schedule says,
// times what the workers say. An optimizer without a schedule, as `assign`, goes by neither.
inline optimizer_options options_at(const optimizer_options& options, std::uint64_t clock,
                                    float rate = 1.0F) {
  auto result = options;
  if (!contains(traits_of(options.kind).options, optimizer_option::schedule)) return result;
  result.learning_rate =
      static_cast<float>(options.learning_rate * share_at(options.schedule, clock) * rate);
  return result;
}

// Returns the words for an optimizer and for its reduction, as find_optimizer() and
// find_reduction(), or rule_of_word(), read them; no word for the job's reduction.
std::string name_of(const optimizer_options& options);
std::string reduction_of(const optimizer_options& options);

// Returns the names of the optimizers that have this option: "a, b, c", or with `last` between
// the last two.
std::string optimizer_names(optimizer_option option, std::string_view last = ", ");
// Likewise of those that step rows, and of those that step dense tables.
std::string row_optimizer_names();
std::string dense_optimizer_names();

}  // namespace tidegate::runtime
