// Assignment: w = lr g. The parameters are what the workers' gradients came to in the last
// step: under bsp those of all workers, for programs that step by themselves (all-reduce).
#pragma once

#include "runtime/base/host_device.hpp"
#include "runtime/optimizers/optimizer.hpp"

namespace tidegate::runtime::optimizers {

struct assign {
  static constexpr optimizer_traits traits() {
    optimizer_traits traits;
    traits.kind = optimizer_kind::assign;
    traits.name = "assign";
    traits.reads_parameters = false;
    traits.options = optimizer_option::learning_rate;
    traits.defaults.kind = traits.kind;
    traits.defaults.learning_rate = 1.0F;
    return traits;
  }

  // One step of one parameter `w` with the gradient `g`; `a` and `b` are its state. The
  // vectors of assign_inl.hpp make the same roundings in float32.
  template <class Real>
  TIDEGATE_HOST_DEVICE static void step(const optimizer_options& /*options*/,
                                        const step_rates<Real>& rates, Real g, Real& w,
                                        Real& /*a*/, Real& /*b*/) {
    w = rates.rate * g;
  }
};

}  // namespace tidegate::runtime::optimizers
