// From an optimizer's spec to what the kernels run. Pure, any thread.
#pragma once

#include "policies/spec.hpp"
#include "runtime/kernels/update.hpp"

namespace tidegate::sim {

inline runtime::kernels::optimizer kernel_optimizer(const policies::optimizer_spec& spec) {
  runtime::kernels::optimizer how;
  how.kind = static_cast<runtime::kernels::optimizer_kind>(spec.kind);  // in the same order
  how.learning_rate = spec.learning_rate;
  how.momentum = spec.momentum;
  how.beta1 = spec.beta1;
  how.beta2 = spec.beta2;
  how.epsilon = spec.epsilon;
  how.weight_decay = spec.weight_decay;
  return how;
}

}  // namespace tidegate::sim
