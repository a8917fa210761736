// AdamW: as Adam, of w (1 - lr wd) (decoupled weight decay: Loshchilov & Hutter 2019, algorithm
// 2; the decay follows lr, as in common frameworks).
#pragma once

#include "runtime/base/host_device.hpp"
#include "runtime/optimizers/adam.hpp"
#include "runtime/optimizers/optimizer.hpp"

namespace tidegate::runtime::optimizers {

struct adamw {
  static constexpr optimizer_traits traits() {
    auto traits = adam::traits();
    traits.kind = optimizer_kind::adamw;
    traits.name = "adamw";
    traits.steps_rows = false;
    traits.options = traits.options | optimizer_option::weight_decay;
    traits.defaults.weight_decay = 0.01F;
    traits.defaults.kind = traits.kind;
    return traits;
  }

  // One step of one parameter `w` with the gradient `g`; `a` and `b` are its state. The
  // vectors of adamw_inl.hpp make the same roundings in float32.
  template <class Real>
  TIDEGATE_HOST_DEVICE static void step(const optimizer_options& options,
                                        const step_rates<Real>& rates, Real g, Real& w, Real& a,
                                        Real& b) {
    w = w * rates.kept;
    adam::step(options, rates, g, w, a, b);
  }
};

}  // namespace tidegate::runtime::optimizers
