// Where gradients of the host wait for their step: a few slots, each with registered host
// memory and device memory of the same size. While a kernel reads one slot the next ones are
// filled.
//
// A slot is used again when the host has seen that the kernel which read it has ended, so no
// more than all slots are ever under way, and a turn queues no more than that. Thread rule:
// that of the device, which outlives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/device/device.hpp"
#include "runtime/device/updates/requests.hpp"

namespace tidegate::runtime::devices {

// Inputs begin at multiples of so many bytes, and pieces of a step at multiples of so many
// elements, so that kernels read whole vectors.
constexpr std::size_t staging_alignment = 256;
constexpr std::size_t piece_elements = staging_alignment / sizeof(float);
// Room for a piece of launch_inputs_max inputs.
constexpr std::size_t slot_bytes_min = launch_inputs_max * 2 * staging_alignment;

class staging {
 public:
  struct slot {
    std::byte* pinned = nullptr;
    std::byte* on_device = nullptr;
    event copied{};    // its inputs are on the device
    event consumed{};  // the kernel has read them
  };

  // Errors: those of the device.
  static expected<staging> make(device& owner, std::size_t slots, std::size_t slot_bytes);

  // Returns how many elements of these inputs a slot has room for, `left` at most. Inputs that
  // lie on the device take none; `left` if all do.
  std::size_t piece_of(std::span<const step_input> inputs, std::size_t left) const noexcept;
  std::size_t slot_bytes() const noexcept { return slot_bytes_; }
  // The slot that is next.
  slot& next() noexcept { return slots_[next_ % slots_.size()]; }
  void take() noexcept { ++next_; }

 private:
  host_memory pinned_;
  device_memory on_device_;
  std::vector<slot> slots_;
  std::size_t slot_bytes_ = 0;
  std::uint64_t next_ = 0;
};

}  // namespace tidegate::runtime::devices
