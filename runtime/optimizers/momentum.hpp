// Momentum: v = mu v + g; w -= lr v (Polyak 1964, as in common frameworks).
#pragma once

#include "runtime/base/host_device.hpp"
#include "runtime/optimizers/optimizer.hpp"

namespace tidegate::runtime::optimizers {

struct momentum {
  static constexpr optimizer_traits traits() {
    optimizer_traits traits;
    traits.kind = optimizer_kind::momentum;
    traits.name = "momentum";
    traits.state_arrays = 1;
    traits.options = optimizer_options_of_steps | optimizer_option::momentum;
    traits.defaults.kind = traits.kind;
    return traits;
  }

  // One step of one parameter `w` with the gradient `g`; `a` and `b` are its state. The
  // vectors of momentum_inl.hpp make the same roundings in float32.
  template <class Real>
  TIDEGATE_HOST_DEVICE static void step(const optimizer_options& options,
                                        const step_rates<Real>& rates, Real g, Real& w, Real& a,
                                        Real& /*b*/) {
    const auto mu = static_cast<Real>(options.momentum);
    a = mu * a + g;
    w = w - rates.rate * a;
  }
};

}  // namespace tidegate::runtime::optimizers
