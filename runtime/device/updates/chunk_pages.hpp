// Device memory as a cache of larger host memory, after GeePS (Cui et al., EuroSys 2016,
// section 3): arrays of chunks are pages, of which those used last lie in frames of the device,
// and the others in registered memory of the host.
//
// Pages are moved on a stream of their own, as soon as an operation that needs them is queued:
// while the device computes for the operations before it. What is moved out has been used, and
// what is moved in is waited for on the device, by events; the host waits for nothing, and
// never looks at a page.
//
// Thread rule: that of the device, which outlives it. Once all frames and places are taken,
// nothing allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/device/device.hpp"

namespace tidegate::runtime::devices {

class chunk_pages {
 public:
  using page = std::uint32_t;
  enum class access : std::uint8_t { read, update, overwrite };
  struct wanted {
    page number = 0;
    access mode = access::read;
  };
  static constexpr std::size_t wanted_max = 8;  // of an operation

  struct options {
    std::uint64_t frame_bytes = 0;  // of the largest page
    std::uint64_t frames_max = wanted_max;
  };
  // Takes wanted_max frames, and the others when they are needed, as far as there is memory.
  // Errors: those of the device.
  static expected<chunk_pages> make(device& owner, const options& sizes);

  // Returns a page that is zero. 1 <= bytes <= frame_bytes.
  page add(std::uint64_t bytes);

  // Lets these pages, wanted_max at most, be on the device for work that is queued on this
  // stream afterwards; they stay there until the next call. Errors: those of the device.
  status bring(std::span<const wanted> pages, stream on);
  // All work on them has been queued, and ends with this stream's. Comes after each bring().
  status used(std::span<const wanted> pages, stream by);
  // Where a page lies on the device; it was brought last, or is still there.
  std::byte* at(page number) const;

  std::uint64_t moved() const noexcept { return moved_; }  // pages, in or out

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  using frame_index = std::uint32_t;
  struct frame {
    std::byte* data = nullptr;
    page holds = none;
    bool is_dirty = false;     // the host has another version, or none
    event arrived{};           // what it holds
    event used{};              // by all work that was queued
    frame_index newer = none;  // in the order of their last uses
    frame_index older = none;
    std::uint64_t wanted_by = 0;  // the last call of bring()
  };
  struct page_state {
    std::uint64_t bytes = 0;
    frame_index in = none;
    std::byte* home = nullptr;  // on the host; nullptr: it was never moved out
  };

  explicit chunk_pages(device& owner) : device_(&owner) {}

  expected<frame_index> take_frame();
  expected<frame_index> add_frame();
  frame_index last_used() const;
  status move_out(frame& from);
  status move_in(page number, access mode, frame_index to, stream on);
  expected<std::byte*> home_of(page_state& page);
  void touch(frame_index index);
  void unlink(frame_index index);

  device* device_;
  options sizes_;
  stream moves_{};
  std::vector<device_memory> frame_memory_;
  std::vector<frame> frames_;
  std::size_t unused_ = 0;       // the first so many frames have never held a page
  std::size_t frames_free_ = 0;  // of frame_memory_'s last piece
  frame_index newest_ = none, oldest_ = none;
  std::vector<host_memory> homes_;
  std::size_t home_used_ = 0;  // bytes of the last one
  std::vector<page_state> pages_;
  std::uint64_t calls_ = 0;
  std::uint64_t moved_ = 0;
};

}  // namespace tidegate::runtime::devices
