#include "launch/simulate/cluster/schedule.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/assert.hpp"

namespace tidegate::sim {

bool schedule::later(const planned& entry, const planned& other) noexcept {
  if (entry.when != other.when) return entry.when > other.when;
  return entry.order != other.order ? entry.order > other.order : entry.number > other.number;
}

void schedule::at(nanoseconds when, action item, std::uint64_t order) {
  TIDEGATE_ASSERT(when >= now_, "nothing happens in the past");
  heap_.push_back({when, order, planned_++, std::move(item)});
  std::push_heap(heap_.begin(), heap_.end(), &later);
}

bool schedule::step() {
  if (heap_.empty()) return false;
  std::pop_heap(heap_.begin(), heap_.end(), &later);
  const auto next = std::move(heap_.back());
  heap_.pop_back();
  now_ = next.when;
  ++steps_;
  next.step();
  return true;
}

}  // namespace tidegate::sim
