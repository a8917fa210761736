// Which rows lie on a device and which in memory of the host, where the device has no room for
// all. Each row has a place; the first places are the device's. A row that is stepped comes to
// the device, and one that was not used for a while takes its place: a second chance for each
// that was used since the hand of the clock went by (Corbato 1969). No row lies in two places.
//
// Pure: it depends on the calls alone, and so do the bits of no row. One thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/rows/index_layout.hpp"

namespace tidegate::runtime::devices {

class row_places {
 public:
  static constexpr std::uint32_t all = ~std::uint32_t{0};

  // Rows of numbers below `rows` have places from now on; each new one that of its number.
  void add(std::uint64_t rows);
  // So many of the first places are the device's; all are before this is called.
  void set_on_device(std::uint32_t places) noexcept { on_device_ = places; }

  std::uint32_t place_of(row_number row) const noexcept {
    return is_split() ? places_[row] : static_cast<std::uint32_t>(row);
  }
  bool is_on_device(std::uint32_t place) const noexcept { return place < on_device_; }

  // Two rows that change places: the device's, and the host's.
  struct exchange {
    row_number out = 0;
    row_number in = 0;
    std::uint32_t device = 0;  // the place that `in` comes to
    std::uint32_t host = 0;
  };
  // Lets as many of these rows be on the device as have room there, and appends what changes
  // places for that, no place twice.
  void bring(std::span<const row_number> rows, std::vector<exchange>& exchanges);

 private:
  bool is_split() const noexcept { return on_device_ != all; }

  std::uint64_t rows_ = 0;
  std::uint32_t on_device_ = all;
  std::vector<std::uint32_t> places_;   // by row; none while all are on the device
  std::vector<row_number> rows_at_;     // by place of the device
  std::vector<std::uint8_t> was_used_;  // likewise: since the hand went by
  std::vector<std::uint64_t> held_by_;  // likewise: the last call of bring() that has its row
  std::uint64_t calls_ = 0;
  std::uint32_t hand_ = 0;
};

}  // namespace tidegate::runtime::devices
