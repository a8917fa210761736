// How fast a device steps: bytes per second of the update kernels and of the queue above them
// (runtime/device/updates), each as a share of what a copy reaches in the same turn.
//
// Everything goes through the seam, so any device will do; of an emulated one the figures say
// nothing. The seam has no events that tell times, because a shard needs none. So batches are
// timed by the host's clock: each has as many steps as take batch_seconds, is queued at once,
// and has ended when polling an event says so. What a launch and the last poll cost, some ten
// microseconds, is then less than a thousandth of a batch. Steps so small that batch_steps_max
// of them are over sooner are measured with more of it.
//
// A copy and a step are measured one after the other, and all steps in each repeat, so that
// what slows a device down for a while slows both.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/status.hpp"
#include "runtime/kernels/update.hpp"

namespace tidegate::bench {

inline constexpr double batch_seconds = 0.02;
inline constexpr std::uint32_t batch_steps_max = 512;

struct device_options {
  std::string device = "cuda:0";
  std::uint64_t bytes = 256U << 20U;           // of each array
  std::vector<std::uint32_t> inputs{2, 4, 8};  // of SGD; other optimizers have the first
  std::vector<std::uint64_t> chunks;           // bytes, of the queue's steps
  std::uint32_t repeats = 15;
};

enum class step_path : std::uint8_t {
  kernel,  // a launch over whole arrays, gradients on the device
  queue,   // a step of the queue for each chunk, gradients on the device
  host,    // likewise, with gradients in registered memory of the host
};

struct device_step {
  step_path path = step_path::kernel;
  runtime::kernels::optimizer_kind optimizer = runtime::kernels::optimizer_kind::sgd;
  std::uint32_t inputs = 2;
  std::uint64_t chunk_bytes = 0;  // 0: a kernel has no chunks
};

struct device_rate {
  device_step step;
  // Read and written by a step over all bytes; on the path `host`, copied to the device for it.
  std::uint64_t bytes_moved = 0;
  // Read and written by the copy beside it; on the path `host`, copied to the device.
  std::uint64_t copy_bytes = 0;
  std::uint32_t steps = 0;  // of a batch
  // By repeat, of a step and of a copy.
  std::vector<double> seconds;
  std::vector<double> copy_seconds;

  double share(std::size_t repeat) const noexcept {
    return static_cast<double>(bytes_moved) / seconds[repeat] /
           (static_cast<double>(copy_bytes) / copy_seconds[repeat]);
  }
};

// Blocks. Errors: those of open_device(); io_error (no room for so many bytes); unavailable
// (the device was lost, or a batch did not end in time).
runtime::expected<std::vector<device_rate>> measure_device(const device_options& options);

std::string device_table(const std::vector<device_rate>& rates);
std::string device_json(const device_options& options, const std::vector<device_rate>& rates);

}  // namespace tidegate::bench
