// Memory of an emulated device. Each piece exists twice: pages that the device's own work
// reaches, in a shared segment, and addresses that are given out, which nothing lies behind.
// Whoever touches those on the host dies (SIGSEGV); work is translated.
//
// One thread at a time; translated addresses are valid until their memory is released.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/base/status.hpp"
#include "runtime/memory/segment.hpp"

namespace tidegate::runtime::devices {

class address_space {
 public:
  explicit address_space(std::uint64_t bytes_max) : bytes_max_(bytes_max) {}
  ~address_space();
  address_space(const address_space&) = delete;
  address_space& operator=(const address_space&) = delete;

  // Memory whose floats are NaN. Errors: io_error (more than bytes_max would be out, or the
  // host is short).
  expected<std::byte*> allocate(std::size_t bytes);
  // Memory of another process, for reading. Errors: those of segment::open; corrupt.
  expected<std::byte*> open(const segment_name& name, std::size_t bytes);
  void release(std::byte* data) noexcept;

  // The name of what was allocated at this address; nullptr for a window.
  const segment_name* name_of(const std::byte* data) const noexcept;
  enum class access : std::uint8_t { read, write };
  // Where these bytes are for the device's work; nullptr if they are not memory of it, or are
  // read-only and to be written.
  std::byte* translate(const void* data, std::size_t bytes, access use) const noexcept;
  // Returns true if any of these host addresses are the device's.
  bool overlaps(const void* data, std::size_t bytes) const noexcept;
  // What was in memory is no number any more.
  void wipe() noexcept;
  std::uint64_t bytes_out() const noexcept { return bytes_out_; }

 private:
  struct piece {
    std::byte* data = nullptr;  // given out; reserved addresses
    std::size_t bytes = 0;      // asked for
    segment pages;
    bool is_window = false;
  };
  expected<std::byte*> add(segment pages, std::size_t bytes, bool is_window);
  const piece* find(const void* data) const noexcept;
  void forget(const piece& item) noexcept;

  std::uint64_t bytes_max_;
  std::uint64_t bytes_out_ = 0;
  std::vector<piece> pieces_;
};

}  // namespace tidegate::runtime::devices
