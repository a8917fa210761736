// The gradient that a step is made with, of the sum of what workers pushed. One element;
// reduced_inl.hpp has the same on vectors.
#pragma once

#include "runtime/base/host_device.hpp"

namespace tidegate::runtime::kernels {

// Returns `sum` scaled and brought into [-limit, limit]; 0 is no limit. A NaN compares as
// neither above nor below, and stays.
TIDEGATE_HOST_DEVICE inline float reduced(float sum, float scale, float limit) {
  const float g = scale * sum;
  if (limit == 0) return g;
  if (g > limit) return limit;
  return g < -limit ? -limit : g;
}

}  // namespace tidegate::runtime::kernels
