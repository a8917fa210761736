#include "policies/supervision/fault_core.hpp"

#include <algorithm>
#include <utility>

#include "policies/model/millisecond.hpp"

namespace tidegate::policies {

namespace {

chaos_plan plan_of(const fault_spec& faults) {
  auto plan = faults.random.value_or(chaos_plan{});
  plan.seed = faults.seed;
  return plan;
}

std::int64_t due_at(const timed_fault& fault, std::int64_t begin) {
  return begin + static_cast<std::int64_t>(fault.after_ms) * millisecond;
}

}  // namespace

fault_core::fault_core(fault_spec faults, std::int64_t now)
    : begin_(now), timed_(std::move(faults.timed)), chaos_(plan_of(faults), now) {
  std::vector<chaos_order> none;
  if (!faults.random) chaos_.end(none);
}

std::int64_t fault_core::next_wake() const noexcept {
  auto when = std::min(chaos_.next_wake(), look_again_);
  for (const auto& fault : timed_)
    if (!fault.clock && look_again_ == never) when = std::min(when, due_at(fault, begin_));
  return when;
}

void fault_core::wake(std::int64_t now, std::span<const chaos_target> living,
                      std::uint64_t clock, std::vector<chaos_order>& out) {
  look_again_ = never;
  chaos_.wake(now, living, out);
  std::erase_if(timed_, [&](const timed_fault& fault) {
    if (fault.clock ? clock < *fault.clock : now < due_at(fault, begin_)) return false;
    if (!fault.choice.hits_process()) {
      out.push_back({fault.choice, {}, fault.target});
      return true;
    }
    const auto target = std::find_if(living.begin(), living.end(), [&](const auto& process) {
      return process.name.to_string() == fault.target;
    });
    if (target == living.end() || chaos_.is_dying(*target)) {
      look_again_ = now + chaos_core::look_again_ns;
      return false;
    }
    chaos_.strike(now, *target, fault.choice, out);
    return true;
  });
}

}  // namespace tidegate::policies
