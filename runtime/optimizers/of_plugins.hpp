// What is known of optimizers of plugins: all options are theirs to read, and the powers of the
// betas are counted for them. The rule itself is found by its name where steps are made
// (runtime/functions/plugin_rules.hpp).
#pragma once

#include "runtime/optimizers/optimizer.hpp"

namespace tidegate::runtime::optimizers {

struct plugin {
  static constexpr optimizer_traits traits() {
    using option = optimizer_option;
    optimizer_traits traits;
    traits.kind = optimizer_kind::plugin;
    traits.name = "plugin:NAME";
    traits.steps_rows = true;
    traits.corrects_bias = true;
    traits.options = optimizer_options_of_steps | option::momentum | option::beta1 |
                     option::beta2 | option::epsilon | option::weight_decay | option::l1 |
                     option::l2 | option::beta | option::l21;
    traits.defaults.kind = traits.kind;
    return traits;
  }
};

}  // namespace tidegate::runtime::optimizers
