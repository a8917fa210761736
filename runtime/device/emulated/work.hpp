// A piece of work that waits on a stream of an emulated device. Plain values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/device/device.hpp"

namespace tidegate::runtime::devices {

enum class work_kind : std::uint8_t {
  copy_in,
  copy_out,
  copy,
  clear,
  find,
  launch,
  step_rows,
  copy_rows,
  record,
  wait
};

// A launch with inputs of its own; its span of inputs is not used.
struct kept_launch {
  update_launch call;
  std::array<kernels::gradient, launch_inputs_max> inputs{};
  std::size_t count = 0;

  std::span<const kernels::gradient> all_inputs() const noexcept {
    return {inputs.data(), count};
  }
};

struct work {
  work_kind kind = work_kind::clear;
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::size_t bytes = 0;
  kept_launch launch;
  row_step_launch step_rows;
  row_copy_launch copy_rows;
  event end{};                   // record, wait
  std::uint64_t generation = 0;  // of the event: how often it had been recorded

  // Set by the schedule, in nanoseconds.
  std::uint64_t submitted_at = 0;
  std::uint64_t delay = 0;     // before it begins
  std::uint64_t duration = 0;  // from its begin to its end; of a record until the host sees it
};

// Work takes effect in two halves, one as it begins and one as it ends, so that what else
// happens meanwhile meets half of it.
enum class half : std::uint8_t { first, second };

}  // namespace tidegate::runtime::devices
