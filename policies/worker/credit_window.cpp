#include "policies/worker/credit_window.hpp"

#include <algorithm>
#include <utility>

namespace tidegate::policies {

void credit_window::begin(std::uint64_t clock, bool is_skip) {
  ++active_[clock % window];
  clocks_[clock % window] = clock;
  if (!is_skip) ++pushes_;
}

void credit_window::acknowledged(std::uint64_t clock, bool is_skip) {
  --active_[clock % window];
  if (!is_skip) --pushes_;
}

void credit_window::clear() {
  active_.fill(0);
  waiting_.reset();
}

bool credit_window::all_acknowledged() const {
  return std::all_of(active_.begin(), active_.end(), [](auto pushes) { return pushes == 0; });
}

// What is active in another slot is of a clock before.
bool credit_window::may_send(std::uint64_t clock) const {
  if (!one_clock_in_flight_) return true;
  for (std::uint64_t age = 1; age < window; ++age)
    if (active_[(clock + age) % window] > 0) return false;
  return true;
}

std::optional<std::uint64_t> credit_window::take_sendable() {
  if (!waiting_ || !may_send(*waiting_)) return {};
  return std::exchange(waiting_, std::nullopt);
}

}  // namespace tidegate::policies
