// What an update_queue is asked for, and what it says. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "runtime/base/status.hpp"
#include "runtime/device/device.hpp"
#include "runtime/kernels/update.hpp"

namespace tidegate::runtime::devices {

using chunk_index = std::uint32_t;  // of a queue; never reused
using ticket = std::uint64_t;       // of an operation; 1, 2, 3, ...

// An array of a chunk. `copy` counts version buffers of parameters, or sums that are kept;
// there is one of each state.
enum class array_kind : std::uint8_t { parameters, state1, state2, sum };
struct array_name {
  chunk_index chunk = 0;
  array_kind kind = array_kind::parameters;
  std::uint32_t copy = 0;
};

// How the chunks of a table are kept.
struct table_shape {
  std::span<const std::uint64_t> elements;  // of each chunk, >= 1
  std::uint32_t states = 0;                 // arrays of the optimizer; two at most
  std::uint32_t version_buffers = 1;        // of parameters, that there may be
  std::uint32_t sums = 0;                   // that are kept for a replica
};

// Where a gradient lies.
enum class input_place : std::uint8_t {
  device,      // memory of the device, or a window: read where it is
  registered,  // host memory that the device copies from
  pageable,    // host memory of any kind, which the queue copies first
};

struct step_input {
  kernels::gradient gradient;
  input_place place = input_place::device;
};
inline bool is_on_host(const step_input& input) noexcept {
  return input.place != input_place::device;
}

// An optimizer step on a chunk, as shard_effects::apply says it.
struct step_request {
  chunk_index chunk = 0;
  update_launch::step kind = update_launch::step::update;
  std::uint32_t from = 0;  // version buffers
  std::uint32_t to = 0;
  kernels::optimizer options;  // options_at() has followed the schedule
  float scale = 1.0F;
  std::span<const step_input> inputs;  // ascending in rank; 1 to launch_inputs_max
  std::optional<std::uint32_t> sum;    // where the sum is left
};

// What has become of an operation.
enum class news : std::uint8_t {
  inputs_read,  // what it reads on the host, or in windows, may be written and given back
  done,         // it has taken effect, and what it reads back is there
};
struct completion {
  ticket of = 0;
  news kind = news::done;
  status outcome;  // a failure: the device is lost, and has let go of the memory all the same
};

}  // namespace tidegate::runtime::devices
