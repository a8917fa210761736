// The optimizers that step rows, for tests.
#pragma once

#include <vector>

#include "runtime/optimizers/registry.hpp"

namespace tidegate::runtime {

inline std::vector<optimizer_kind> row_optimizers() {
  std::vector<optimizer_kind> kinds;
  for (const auto& traits : optimizers_known)
    if (traits.steps_rows) kinds.push_back(traits.kind);
  return kinds;
}

}  // namespace tidegate::runtime
