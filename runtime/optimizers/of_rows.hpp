// Optimizers of rows alone: what is known of them besides their formulas, which are of a row as
// a whole (runtime/rows/row_formulas.hpp).
#pragma once

#include "runtime/optimizers/optimizer.hpp"

namespace tidegate::runtime::optimizers {

struct rowwise_adagrad {
  static constexpr optimizer_traits traits() {
    optimizer_traits traits;
    traits.kind = optimizer_kind::rowwise_adagrad;
    traits.name = "rowwise_adagrad";
    traits.state_arrays = 1;
    traits.steps_rows = true;
    traits.options = optimizer_option::learning_rate | optimizer_option::schedule |
                     optimizer_option::epsilon;
    traits.defaults.kind = traits.kind;
    return traits;
  }
};

// Its learning rate divides what is in its state, so it has no schedule.
struct ftrl {
  static constexpr optimizer_traits traits() {
    optimizer_traits traits;
    traits.kind = optimizer_kind::ftrl;
    traits.name = "ftrl";
    traits.state_arrays = 2;
    traits.steps_rows = true;
    traits.options = optimizer_option::learning_rate | optimizer_option::beta |
                     optimizer_option::l1 | optimizer_option::l2;
    traits.defaults.kind = traits.kind;
    return traits;
  }
};

// As FTRL's, its learning rate divides what is in its state.
struct group_adagrad {
  static constexpr optimizer_traits traits() {
    optimizer_traits traits;
    traits.kind = optimizer_kind::group_adagrad;
    traits.name = "group_adagrad";
    traits.state_arrays = 2;
    traits.steps_rows = true;
    traits.options = optimizer_option::learning_rate | optimizer_option::epsilon |
                     optimizer_option::l1 | optimizer_option::l2 | optimizer_option::l21;
    traits.defaults.kind = traits.kind;
    return traits;
  }
};

}  // namespace tidegate::runtime::optimizers
