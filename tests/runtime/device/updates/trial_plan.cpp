#include "tests/runtime/device/updates/trial_plan.hpp"

#include "runtime/optimizers/registry.hpp"

namespace tidegate::tests {

using namespace runtime::devices;

trial_plan::trial_plan(runtime::rng& random) {
  const auto& traits =
      runtime::dense_optimizers[random.below(std::size(runtime::dense_optimizers))];
  options = traits.defaults;
  options.learning_rate = 0.05F;
  options.weight_decay = 0.01F;
  options.clip_value = random.below(2) == 0 ? 0.0F : 0.5F;
  const bool is_paged = random.below(2) == 0;  // then more than there are frames for
  const auto count = is_paged ? 4 + random.below(chunks_max - 3) : 1 + random.below(4);
  const std::uint64_t most[] = {100, 2000, elements_max};
  for (std::uint64_t i = 0; i < count; ++i)
    elements.push_back(1 + random.below(most[random.below(3)]));
  shape = {.elements = elements,
           .states = traits.state_arrays,
           .version_buffers = static_cast<std::uint32_t>(1 + random.below(3)),
           .sums = static_cast<std::uint32_t>(random.below(3))};
  waiting_most = 1 + random.below(random.below(2) == 0 ? 4 : 40);
  queue = {.operations_max = static_cast<std::uint32_t>(1 + random.below(is_paged ? 40 : 12)),
           .slots = static_cast<std::uint32_t>(1 + random.below(is_paged ? 40 : 4)),
           .slot_bytes = slot_bytes_min * (1 + random.below(2)),
           .cache_bytes = is_paged ? cache_bytes_min(array_bytes) : 0,
           .chunk_bytes_max = array_bytes};
}

}  // namespace tidegate::tests
