// From an optimizer's spec to what the kernels run. Header only and without CAF, as simulated
// shards want it, too. Pure, any thread.
#pragma once

#include "policies/model/spec.hpp"
#include "runtime/kernels/update.hpp"

namespace tidegate::actors {

inline runtime::kernels::optimizer to_kernel(const policies::optimizer_spec& spec) noexcept {
  using from = policies::optimizer_kind;
  using to = runtime::kernels::optimizer_kind;
  // The kinds are the same numbers on both sides.
  static_assert(static_cast<int>(from::sgd) == static_cast<int>(to::sgd) &&
                static_cast<int>(from::momentum) == static_cast<int>(to::momentum) &&
                static_cast<int>(from::adam) == static_cast<int>(to::adam) &&
                static_cast<int>(from::nesterov) == static_cast<int>(to::nesterov) &&
                static_cast<int>(from::adagrad) == static_cast<int>(to::adagrad) &&
                static_cast<int>(from::adamw) == static_cast<int>(to::adamw));
  runtime::kernels::optimizer optimizer;
  optimizer.kind = static_cast<to>(spec.kind);
  optimizer.learning_rate = spec.learning_rate;
  optimizer.momentum = spec.momentum;
  optimizer.beta1 = spec.beta1;
  optimizer.beta2 = spec.beta2;
  optimizer.epsilon = spec.epsilon;
  optimizer.weight_decay = spec.weight_decay;
  return optimizer;
}

}  // namespace tidegate::actors
