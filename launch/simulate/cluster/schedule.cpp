#include "launch/simulate/cluster/schedule.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/assert.hpp"

namespace tidegate::sim {

bool schedule::later(const planned& one, const planned& other) noexcept {
  if (one.when != other.when) return one.when > other.when;
  return one.order != other.order ? one.order > other.order : one.number > other.number;
}

void schedule::at(nanoseconds when, action what, std::uint64_t order) {
  TIDEGATE_ASSERT(when >= now_, "nothing happens in the past");
  heap_.push_back({when, order, planned_++, std::move(what)});
  std::push_heap(heap_.begin(), heap_.end(), &later);
}

bool schedule::step() {
  if (heap_.empty()) return false;
  std::pop_heap(heap_.begin(), heap_.end(), &later);
  const auto next = std::move(heap_.back());
  heap_.pop_back();
  now_ = next.when;
  ++steps_;
  next.what();
  return true;
}

}  // namespace tidegate::sim
