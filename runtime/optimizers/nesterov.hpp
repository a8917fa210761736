// Nesterov: v = mu v + g; w -= lr (g + mu v) (Sutskever et al. 2013, section 2, in the form of
// common frameworks: w is the point looked ahead to).
#pragma once

#include "runtime/base/host_device.hpp"
#include "runtime/optimizers/momentum.hpp"
#include "runtime/optimizers/optimizer.hpp"

namespace tidegate::runtime::optimizers {

struct nesterov {
  static constexpr optimizer_traits traits() {
    auto traits = momentum::traits();
    traits.kind = optimizer_kind::nesterov;
    traits.name = "nesterov";
    traits.defaults.kind = traits.kind;
    return traits;
  }

  // One step of one parameter `w` with the gradient `g`; `a` and `b` are its state. The
  // vectors of nesterov_inl.hpp make the same roundings in float32.
  template <class Real>
  TIDEGATE_HOST_DEVICE static void step(const optimizer_options& options,
                                        const step_rates<Real>& rates, Real g, Real& w, Real& a,
                                        Real& /*b*/) {
    const auto mu = static_cast<Real>(options.momentum);
    a = mu * a + g;
    w = w - rates.rate * (g + mu * a);
  }
};

}  // namespace tidegate::runtime::optimizers
