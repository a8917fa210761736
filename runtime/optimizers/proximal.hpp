// Proximal gradient step for l1 |w| + l2/2 w^2: u = w - lr g, then u moves by lr l1 towards 0,
// and stops there, and is divided by 1 + lr l2 (Parikh & Boyd 2014, sections 4.2 and 6.5.2;
// Li et al. 2014, section 5.1, step on blocks of parameters). A NaN stays one.
#pragma once

#include "runtime/base/host_device.hpp"
#include "runtime/optimizers/optimizer.hpp"

namespace tidegate::runtime::optimizers {

struct proximal {
  static constexpr optimizer_traits traits() {
    optimizer_traits traits;
    traits.kind = optimizer_kind::proximal;
    traits.name = "proximal";
    traits.steps_rows = true;
    traits.options = optimizer_options_of_steps | optimizer_option::l1 | optimizer_option::l2;
    traits.defaults.kind = traits.kind;
    return traits;
  }

  // One step of one parameter `w` with the gradient `g`; `a` and `b` are its state. The
  // vectors of proximal_inl.hpp make the same roundings in float32.
  template <class Real>
  TIDEGATE_HOST_DEVICE static void step(const optimizer_options& options,
                                        const step_rates<Real>& rates, Real g, Real& w,
                                        Real& /*a*/, Real& /*b*/) {
    const Real reach = rates.rate * static_cast<Real>(options.l1);
    const Real shrinks = Real{1} + rates.rate * static_cast<Real>(options.l2);
    const Real moved = w - rates.rate * g;
    if (moved >= -reach && moved <= reach) {
      w = Real{0};
    } else {
      w = (moved > Real{0} ? moved - reach : moved + reach) / shrinks;
    }
  }
};

}  // namespace tidegate::runtime::optimizers
