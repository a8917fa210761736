// Gradients as workers have them: memory on the device, host memory that is registered, and any
// host memory, a third of each. What is given back is filled with NaN at once, as if its worker
// had gone on, so that who still reads it shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/base/rng.hpp"
#include "runtime/device/device.hpp"
#include "runtime/device/updates/requests.hpp"

namespace tidegate::tests {

class worker_gradients {
 public:
  // Room for `count` gradients of so many bytes.
  worker_gradients(std::size_t count, std::size_t bytes) : items_(count), bytes_(bytes) {}

  // Errors: those of the device.
  runtime::status set_up(runtime::devices::device& on);
  // Writes a gradient where there is room, from `first` on, on the device alone if asked for,
  // and returns its index; size() if there is no room. On the device its worker's own work
  // writes it, and it is there.
  std::size_t write(std::size_t first, std::size_t elements, runtime::kernels::element type,
                    std::uint64_t key, bool is_on_device = false);
  runtime::devices::step_input input(std::size_t index, std::uint32_t rank) const;
  // What was written, on the CPU.
  const std::byte* values(std::size_t index) const { return items_[index].values.data(); }
  void give_back(std::size_t index);
  std::size_t size() const noexcept { return items_.size(); }
  bool is_stuck() const noexcept { return is_stuck_; }  // a worker's event does not end

 private:
  struct gradient_memory {
    runtime::devices::input_place place = runtime::devices::input_place::device;
    std::byte* data = nullptr;
    std::byte* scratch = nullptr;  // registered
    runtime::kernels::element type = runtime::kernels::element::float32;
    std::vector<std::byte> pageable, values;
    bool is_free = true;
  };
  void send(gradient_memory& item);

  std::vector<gradient_memory> items_;
  std::size_t bytes_;
  runtime::devices::device* device_ = nullptr;
  runtime::devices::device_memory on_device_;
  runtime::devices::host_memory host_;
  std::span<std::byte> no_numbers_;  // registered
  runtime::devices::stream worker_{};
  runtime::devices::event written_{};
  bool is_stuck_ = false;
};

}  // namespace tidegate::tests
