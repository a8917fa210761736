// Where results for pageable host memory wait to be copied there: a few slots of registered
// host memory, which are filled and emptied in turn.
//
// Thread rule: that of the device, which outlives it. Once made, nothing allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/device/device.hpp"
#include "runtime/device/updates/requests.hpp"

namespace tidegate::runtime::devices {

class result_slots {
 public:
  struct slot {
    std::byte* pinned = nullptr;
    event copied{};         // what it is filled with is there
    ticket of = 0;          // the read that fills it
    std::size_t first = 0;  // element of that array
    std::size_t count = 0;
  };

  // Errors: those of the device.
  static expected<result_slots> make(device& owner, std::size_t slots, std::size_t slot_bytes);

  std::size_t slot_bytes() const noexcept { return slot_bytes_; }
  // Returns a slot that is empty, to be filled, or nullptr.
  slot* take() noexcept {
    return taken_ - given_back_ == slots_.size() ? nullptr : &slots_[taken_++ % slots_.size()];
  }
  // Returns the slot that was taken first, or nullptr.
  slot* oldest() noexcept {
    return taken_ == given_back_ ? nullptr : &slots_[given_back_ % slots_.size()];
  }
  // The oldest one is empty again.
  void give_back() noexcept { ++given_back_; }

 private:
  host_memory pinned_;
  std::vector<slot> slots_;
  std::size_t slot_bytes_ = 0;
  std::uint64_t taken_ = 0;
  std::uint64_t given_back_ = 0;
};

}  // namespace tidegate::runtime::devices
