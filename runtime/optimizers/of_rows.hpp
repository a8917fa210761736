// Optimizers of rows alone: what is known of them besides their formulas, which are of a row as
// a whole (row_formulas.hpp).
#pragma once

#include "runtime/optimizers/optimizer.hpp"

namespace tidegate::runtime::optimizers {

constexpr optimizer_traits traits_of_rows(optimizer_kind kind, std::string_view name,
                                          std::uint32_t state_arrays,
                                          optimizer_option options) {
  optimizer_traits traits;
  traits.kind = kind;
  traits.name = name;
  traits.state_arrays = state_arrays;
  traits.steps_rows = true;
  traits.options = options;
  traits.defaults.kind = kind;
  return traits;
}

struct rowwise_adagrad {
  static constexpr optimizer_traits traits() {
    return traits_of_rows(optimizer_kind::rowwise_adagrad, "rowwise_adagrad", 1,
                          optimizer_option::learning_rate | optimizer_option::schedule |
                              optimizer_option::epsilon);
  }
};

// Its learning rate divides what is in its state, so it has no schedule.
struct ftrl {
  static constexpr optimizer_traits traits() {
    return traits_of_rows(optimizer_kind::ftrl, "ftrl", 2,
                          optimizer_option::learning_rate | optimizer_option::beta |
                              optimizer_option::l1 | optimizer_option::l2);
  }
};

// As FTRL's, its learning rate divides what is in its state.
struct group_adagrad {
  static constexpr optimizer_traits traits() {
    return traits_of_rows(optimizer_kind::group_adagrad, "group_adagrad", 2,
                          optimizer_option::learning_rate | optimizer_option::epsilon |
                              optimizer_option::l1 | optimizer_option::l2 |
                              optimizer_option::l21);
  }
};

}  // namespace tidegate::runtime::optimizers
