#include "runtime/device/rows/row_places.hpp"

#include <algorithm>
#include <numeric>

#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"

namespace tidegate::runtime::devices {

void row_places::add(std::uint64_t rows) {
  TIDEGATE_ASSERT(rows < all, "numbers of rows have 32 bits");
  rows_ = std::max(rows_, rows);
  if (!is_split()) return;
  const auto before = places_.size();
  places_.resize(rows_);
  std::iota(places_.begin() + static_cast<std::ptrdiff_t>(before), places_.end(),
            static_cast<std::uint32_t>(before));
  if (rows_at_.size() < on_device_) {
    const auto rows_there = std::min<std::uint64_t>(rows_, on_device_);
    for (auto row = rows_at_.size(); row < rows_there; ++row)
      rows_at_.push_back(static_cast<row_number>(row));
    was_used_.resize(rows_at_.size());
    held_by_.resize(rows_at_.size());
  }
}

void row_places::bring(std::span<const row_number> rows, std::vector<exchange>& exchanges) {
  if (!is_split() || on_device_ == 0) return;
  add(rows_);
  ++calls_;
  for (const auto row : rows) {
    const auto place = places_[row];
    if (!is_on_device(place)) continue;
    was_used_[place] = 1;
    held_by_[place] = calls_;
  }
  // Two turns of the hand pass every place that no row of this call holds.
  std::uint64_t looks = 2 * std::uint64_t{on_device_};
  const auto next_free = [&] {
    for (; looks > 0; --looks) {
      const auto place = hand_;
      hand_ = hand_ + 1 < on_device_ ? hand_ + 1 : 0;
      if (held_by_[place] == calls_ && !is_planted(planted_bug::row_moved_twice_in_a_step))
        continue;
      if (was_used_[place] == 0) return place;
      was_used_[place] = 0;
    }
    return all;
  };
  for (const auto row : rows) {
    const auto host = places_[row];
    if (is_on_device(host)) continue;
    const auto device = next_free();
    if (device == all) return;
    const auto out = rows_at_[device];
    exchanges.push_back({.out = out, .in = row, .device = device, .host = host});
    places_[out] = host;
    places_[row] = device;
    rows_at_[device] = row;
    was_used_[device] = 1;
    held_by_[device] = calls_;
  }
}

}  // namespace tidegate::runtime::devices
