#include "runtime/device/updates/joined_steps.hpp"

#include <algorithm>

namespace tidegate::runtime::devices {

bool are_one_step(const queued_step& step, const queued_step& next) {
  const auto are_side_by_side = [&](const step_input& input, const step_input& after) {
    const auto type = input.gradient.type;
    const auto* end =
        static_cast<const std::byte*>(input.gradient.data) + step.elements * size_of(type);
    return !is_on_host(input) && !is_on_host(after) && after.gradient.data == end &&
           after.gradient.type == type && after.gradient.rank == input.gradient.rank;
  };
  const auto& a = step.request;
  const auto& b = next.request;
  return a.kind == b.kind && a.from == b.from && a.to == b.to && a.sum == b.sum &&
         a.scale == b.scale && a.options == b.options &&
         step.powers.beta1 == next.powers.beta1 && step.powers.beta2 == next.powers.beta2 &&
         std::equal(step.inputs.begin(), step.inputs.end(), next.inputs.begin(),
                    next.inputs.end(), are_side_by_side);
}

}  // namespace tidegate::runtime::devices
