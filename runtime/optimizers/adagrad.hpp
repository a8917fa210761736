// AdaGrad: s += g g; w -= lr g / (sqrt(s) + eps) (Duchi et al. 2011, figure 1, diagonal).
#pragma once

#include <cmath>

#include "runtime/base/host_device.hpp"
#include "runtime/optimizers/optimizer.hpp"

namespace tidegate::runtime::optimizers {

struct adagrad {
  static constexpr optimizer_traits traits() {
    optimizer_traits traits;
    traits.kind = optimizer_kind::adagrad;
    traits.name = "adagrad";
    traits.steps_rows = true;
    traits.state_arrays = 1;
    traits.options = optimizer_options_of_steps | optimizer_option::epsilon;
    traits.defaults.epsilon = 1e-10F;
    traits.defaults.kind = traits.kind;
    return traits;
  }

  // One step of one parameter `w` with the gradient `g`; `a` and `b` are its state. The
  // vectors of adagrad_inl.hpp make the same roundings in float32.
  template <class Real>
  TIDEGATE_HOST_DEVICE static void step(const optimizer_options& options,
                                        const step_rates<Real>& rates, Real g, Real& w, Real& a,
                                        Real& /*b*/) {
    a = a + g * g;
    w = w - rates.rate * g / (std::sqrt(a) + static_cast<Real>(options.epsilon));
  }
};

}  // namespace tidegate::runtime::optimizers
