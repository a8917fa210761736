// Which steps of an update_queue are one launch. Pure.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/device/updates/requests.hpp"

namespace tidegate::runtime::devices {

// A step that waits, with the powers of its chunk's betas before it, and the chunk's elements.
struct queued_step {
  const step_request& request;  // whose inputs are those beside it
  std::span<const step_input> inputs;
  const kernels::beta_powers& powers;
  std::uint64_t elements = 0;
};

// Returns true if two steps of chunks whose arrays are side by side are one step of a longer
// chunk: they differ in nothing, and each gradient of `next` begins, on the device, where that
// of `step` ends. A step is of each element alone, so that its bits stay as they are.
bool are_one_step(const queued_step& step, const queued_step& next);

}  // namespace tidegate::runtime::devices
