#include "runtime/filters/held_rows.hpp"

#include <algorithm>

#include "runtime/base/assert.hpp"
#include "runtime/base/rng.hpp"

namespace tidegate::runtime::filters {

namespace {
constexpr std::size_t slots_min = 64;
}

// The slot of a row, or where it would be.
std::size_t held_rows::slot_of(std::uint64_t id) const noexcept {
  const auto mask = slots_.size() - 1;
  auto slot = mix64(id) & mask;
  while (slots_[slot] != 0 && ids_[slots_[slot] - 1] != id) slot = (slot + 1) & mask;
  return slot;
}

held_rows::place held_rows::find(std::uint64_t id) const noexcept {
  if (slots_.empty()) return nowhere;
  const auto entry = slots_[slot_of(id)];
  return entry == 0 ? nowhere : entry - 1;
}

void held_rows::grow() {
  slots_.assign(std::max(slots_min, 2 * slots_.size()), 0);
  for (place at = 0; at < ids_.size(); ++at)
    if (used_[at]) slots_[slot_of(ids_[at])] = at + 1;
}

std::pair<held_rows::place, bool> held_rows::insert(std::uint64_t id) {
  if (slots_.size() < 2 * (size() + 1)) grow();
  const auto slot = slot_of(id);
  if (slots_[slot] != 0) return {slots_[slot] - 1, false};
  place at = 0;
  if (free_.empty()) {
    TIDEGATE_ASSERT(ids_.size() < nowhere - 1, "rows that places have numbers for");
    at = static_cast<place>(ids_.size());
    ids_.push_back(id);
    calls_.push_back(0);
    used_.push_back(true);
    values_.resize(values_.size() + dim_);
  } else {
    at = free_.back();
    free_.pop_back();
    ids_[at] = id;
    calls_[at] = 0;
    used_[at] = true;
    std::ranges::fill(values(at), 0.0F);
  }
  slots_[slot] = at + 1;
  return {at, true};
}

void held_rows::erase(place at) noexcept {
  const auto mask = slots_.size() - 1;
  auto hole = slot_of(ids_[at]);
  slots_[hole] = 0;
  for (auto next = (hole + 1) & mask; slots_[next] != 0; next = (next + 1) & mask) {
    const auto home = mix64(ids_[slots_[next] - 1]) & mask;
    // It stays where its home lies cyclically between the hole and it.
    if (((next - home) & mask) < ((next - hole) & mask)) continue;
    slots_[hole] = std::exchange(slots_[next], 0);
    hole = next;
  }
  used_[at] = false;
  free_.push_back(at);
}

void held_rows::clear() noexcept {
  std::ranges::fill(slots_, 0);
  ids_.clear();
  calls_.clear();
  used_.clear();
  values_.clear();
  free_.clear();
}

void held_rows::ascending(std::vector<place>& into) const {
  into.clear();
  for (place at = 0; at < ids_.size(); ++at)
    if (used_[at]) into.push_back(at);
  std::ranges::sort(into, {}, [&](place at) { return ids_[at]; });
}

}  // namespace tidegate::runtime::filters
