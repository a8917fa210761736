// Adam: m, v moments; w -= lr_t m / (sqrt(v) + eps) (Kingma & Ba 2015, end of section 2, where
// lr_t has the correction of both biases).
#pragma once

#include <cmath>

#include "runtime/base/host_device.hpp"
#include "runtime/optimizers/optimizer.hpp"

namespace tidegate::runtime::optimizers {

struct adam {
  static constexpr optimizer_traits traits() {
    optimizer_traits traits;
    traits.kind = optimizer_kind::adam;
    traits.name = "adam";
    traits.steps_rows = true;
    traits.state_arrays = 2;
    traits.options = optimizer_options_of_steps | optimizer_option::beta1 |
                     optimizer_option::beta2 | optimizer_option::epsilon;
    traits.corrects_bias = true;
    traits.defaults.kind = traits.kind;
    return traits;
  }

  // One step of one parameter `w` with the gradient `g`; `a` and `b` are its state. The
  // vectors of adam_inl.hpp make the same roundings in float32.
  template <class Real>
  TIDEGATE_HOST_DEVICE static void step(const optimizer_options& options,
                                        const step_rates<Real>& rates, Real g, Real& w, Real& a,
                                        Real& b) {
    const auto beta1 = static_cast<Real>(options.beta1);
    const auto beta2 = static_cast<Real>(options.beta2);
    a = beta1 * a + (Real{1} - beta1) * g;
    b = beta2 * b + (Real{1} - beta2) * (g * g);
    w = w - rates.rate * a / (std::sqrt(b) + static_cast<Real>(options.epsilon));
  }
};

}  // namespace tidegate::runtime::optimizers
