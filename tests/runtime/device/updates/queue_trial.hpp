// Random operations on an update_queue, beside the same ones on the CPU: chunks, optimizers,
// gradients of all types and places, read-backs in between, version buffers, few slots and few
// operations at a time. A function of the seed where the device is paced by its caller.
//
// Whatever the queue gives back is filled with NaN at once, so that who still reads it shows.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/device/device.hpp"
#include "runtime/device/emulated/emulated_device.hpp"

namespace tidegate::tests {

struct trial_report {
  std::string problem;  // the first; empty: none
  bool is_lost = false;
  std::uint64_t steps = 0, reads = 0, seen = 0;  // seen: parameters, in place
  std::uint64_t pages_moved = 0;                 // of a cache
  std::uint64_t joined = 0;                      // steps in one launch with the one before
};

// On any device, also a GPU.
trial_report try_queue(runtime::devices::device& on, std::uint64_t seed);
// On an emulated device, whose delays the seed draws; it is lost in some seeds if
// `may_be_lost`.
trial_report try_emulated(std::uint64_t seed, runtime::devices::emulated_options::pace paced_by,
                          bool may_be_lost);

}  // namespace tidegate::tests
