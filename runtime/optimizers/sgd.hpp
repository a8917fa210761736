// Stochastic gradient descent: w -= lr g.
#pragma once

#include "runtime/base/host_device.hpp"
#include "runtime/optimizers/optimizer.hpp"

namespace tidegate::runtime::optimizers {

struct sgd {
  static constexpr optimizer_traits traits() {
    optimizer_traits traits;
    traits.kind = optimizer_kind::sgd;
    traits.name = "sgd";
    traits.steps_rows = true;

    traits.defaults.kind = traits.kind;
    return traits;
  }

  // One step of one parameter `w` with the gradient `g`; `a` and `b` are its state. The
  // vectors of sgd_inl.hpp make the same roundings in float32.
  template <class Real>
  TIDEGATE_HOST_DEVICE static void step(const optimizer_options& /*options*/,
                                        const step_rates<Real>& rates, Real g, Real& w,
                                        Real& /*a*/, Real& /*b*/) {
    w = w - rates.rate * g;
  }
};

}  // namespace tidegate::runtime::optimizers
