// What a process shows to those who write to it: whether it sleeps, and how far it has read
// each ring.
//
//   0 asleep u32 (0: no; else twice the number of this sleep, odd: not for acknowledgements) |
//   64 * (1 + slot) read u64
//
// cursor_page_view is how any process sees such a page; cursor_page is the page of this
// process, which alone writes to it. One reactor thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/base/limits.hpp"
#include "runtime/base/status.hpp"
#include "runtime/memory/segment.hpp"

namespace tidegate::runtime {

class cursor_page_view {
 public:
  cursor_page_view() = default;
  explicit cursor_page_view(std::byte* at) noexcept : at_(at) {}
  // Somebody else's is to be loaded only; it is mapped so.
  std::atomic<std::uint32_t>& asleep() const noexcept {
    return *reinterpret_cast<std::atomic<std::uint32_t>*>(at_);
  }
  std::atomic<std::uint64_t>& read(std::uint32_t slot) const noexcept {
    return *reinterpret_cast<std::atomic<std::uint64_t>*>(at_ + 64 * (1 + std::size_t{slot}));
  }

  static constexpr std::uint32_t slots = limits::host_peers_max;
  static constexpr std::size_t bytes = 64 * (1 + std::size_t{slots});
  static_assert(slots >= limits::workers_max, "a job with all its workers fits on one host");

 private:
  std::byte* at_ = nullptr;
};

// Owns the page, its free slots, and whether others may believe that this process sleeps.
class cursor_page {
 public:
  // Errors: io_error (no descriptor, no memory).
  status open();
  const segment_name& name() const noexcept { return memory_.name(); }

  // Slots are lent to the rings that are read; take_slot() needs a free one.
  bool is_full() const noexcept { return free_slots_.empty(); }
  std::uint32_t take_slot() noexcept;
  void give_back(std::uint32_t slot) { free_slots_.push_back(slot); }
  // The ring of this slot has been read up to `position`. Hot path.
  void show_read(std::uint32_t slot, std::uint64_t position) const noexcept {
    view().read(slot).store(position, std::memory_order_release);
  }

  // Announces another sleep. `patient`: acknowledgements alone are not to end it.
  void sleep(bool patient) noexcept;
  void rise() noexcept;
  bool is_asleep() const noexcept { return asleep_; }

 private:
  cursor_page_view view() const noexcept { return cursor_page_view(memory_.data()); }

  segment memory_;
  std::vector<std::uint32_t> free_slots_;
  std::uint32_t sleeps_ = 0;
  bool asleep_ = false;
};

}  // namespace tidegate::runtime
