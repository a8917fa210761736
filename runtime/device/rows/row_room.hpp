// Memory for rows of several tables: of a device, and of the host where the device has no more
// or may hold no more. Pieces that are given back are kept for others of their size: as all
// work on rows of a device is done in the order in which it is asked for, what was to be done
// with a piece before is done before.
//
// Thread rule: that of the device, which outlives it. Work on its pieces has ended when it
// goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/base/status.hpp"
#include "runtime/device/device.hpp"

namespace tidegate::runtime::devices {

class row_room {
 public:
  // `bytes_max`: of the device; 0: as many as leave an eighth of its memory to others.
  row_room(device& on, std::uint64_t bytes_max) : device_(on), bytes_max_(bytes_max) {}

  struct piece {
    device_memory on_device;
    host_memory on_host;

    bool is_on_device() const noexcept { return static_cast<bool>(on_device); }
    std::byte* data() const noexcept {
      return is_on_device() ? on_device.data() : on_host.bytes().data();
    }
    std::size_t size() const noexcept {
      return is_on_device() ? on_device.size() : on_host.bytes().size();
    }
  };
  enum class place : std::uint8_t { device_first, host };
  // Memory with any contents, or zeroed; the device has what was never written if it was taken
  // anew (`is_fresh`). Errors: no_space (neither has any), unavailable.
  struct taken {
    row_room::piece memory;
    bool is_fresh = false;
  };
  expected<taken> take(std::uint64_t bytes, place where);
  void give_back(piece given);

  // Memory that rows wait in while others come to the device: of all tables, for the same
  // reason; empty if there was none to be had.
  std::span<float> waiting_room();

  // Of pieces that are taken.
  std::uint64_t bytes_on_device() const noexcept { return bytes_on_device_; }
  std::uint64_t bytes_on_host() const noexcept { return bytes_on_host_; }
  std::uint64_t rows_moved() const noexcept { return rows_moved_; }  // that came to the device
  void count_moved(std::uint64_t rows) noexcept { rows_moved_ += rows; }

 private:
  bool may_take(std::uint64_t bytes);
  std::uint64_t& bytes_of(const piece& counted) noexcept {
    return counted.is_on_device() ? bytes_on_device_ : bytes_on_host_;
  }
  bool find_kept(std::uint64_t bytes, bool on_device, piece& found);

  device& device_;
  std::uint64_t bytes_max_;
  std::uint64_t bytes_on_device_ = 0;
  std::uint64_t bytes_on_host_ = 0;
  std::uint64_t rows_moved_ = 0;
  std::uint64_t bytes_kept_ = 0;  // of the device, in kept_
  std::vector<piece> kept_;
  piece waiting_room_;
  bool asked_for_waiting_room_ = false;
};

}  // namespace tidegate::runtime::devices
