// Places in a device's memory that share what is allocated: a device gives memory in large
// pieces, and a cluster may have ten thousand small tables. Large places have a piece of their
// own. Nothing is given back before the arena goes, but for the last place.
//
// Thread rule: that of the device, which outlives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/device/device.hpp"

namespace tidegate::runtime::devices {

class device_arena {
 public:
  static constexpr std::uint64_t piece_bytes = std::uint64_t{2} << 20;
  static constexpr std::uint64_t alignment = 256;  // bytes, of each place

  // Returns the bytes that a place takes.
  static constexpr std::uint64_t round_up(std::uint64_t bytes) {
    return (bytes + alignment - 1) / alignment * alignment;
  }

  struct place {
    std::uint32_t piece = 0;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
  };

  explicit device_arena(device& owner) : device_(owner) {}

  // bytes >= 1; with any contents. Errors: those of device::allocate.
  expected<place> allocate(std::uint64_t bytes);
  // Gives the place back that was allocated last.
  void undo(const place& last);
  std::byte* at(const place& where) const {
    return pieces_[where.piece].memory.data() + where.offset;
  }
  const device_memory& memory_of(const place& where) const {
    return pieces_[where.piece].memory;
  }

 private:
  struct piece {
    device_memory memory;
    std::uint64_t used = 0;
  };
  expected<place> allocate_piece(std::uint64_t piece_size, std::uint64_t bytes);

  device& device_;
  std::vector<piece> pieces_;
  std::uint32_t shared_ = 0;  // the piece that small places come from
  bool has_shared_ = false;
};

}  // namespace tidegate::runtime::devices
