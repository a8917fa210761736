// What a trial of an update_queue works with: an optimizer, a table, a queue's sizes. Drawn by
// its seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/base/rng.hpp"
#include "runtime/device/updates/requests.hpp"
#include "runtime/device/updates/update_queue.hpp"

namespace tidegate::tests {

struct trial_plan {
  static constexpr std::size_t chunks_max = 8;
  static constexpr std::size_t elements_max = 6000;  // of a chunk
  static constexpr std::size_t array_bytes = elements_max * sizeof(float);

  explicit trial_plan(runtime::rng& random);
  trial_plan(const trial_plan&) = delete;
  trial_plan& operator=(const trial_plan&) = delete;

  runtime::optimizer_options options;
  std::vector<std::uint64_t> elements;  // of each chunk
  runtime::devices::table_shape shape;  // of `elements`
  runtime::devices::queue_options queue;
  std::uint64_t waiting_most = 1;  // operations
};

}  // namespace tidegate::tests
