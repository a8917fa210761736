#include "policies/supervision/fault_core.hpp"

#include <algorithm>
#include <utility>

#include "policies/model/millisecond.hpp"

namespace tidegate::policies {

namespace {

chaos_plan plan_of(const fault_spec& how) {
  auto plan = how.random.value_or(chaos_plan{});
  plan.seed = how.seed;
  return plan;
}

std::int64_t due_at(const timed_fault& one, std::int64_t begin) {
  return begin + static_cast<std::int64_t>(one.after_ms) * millisecond;
}

}  // namespace

fault_core::fault_core(fault_spec how, std::int64_t now)
    : begin_(now), timed_(std::move(how.timed)), chaos_(plan_of(how), now) {
  std::vector<chaos_order> none;
  if (!how.random) chaos_.end(none);
}

std::int64_t fault_core::next_wake() const noexcept {
  auto when = std::min(chaos_.next_wake(), look_again_);
  for (const auto& one : timed_)
    if (!one.clock && look_again_ == never) when = std::min(when, due_at(one, begin_));
  return when;
}

void fault_core::wake(std::int64_t now, std::span<const chaos_target> living,
                      std::uint64_t clock, std::vector<chaos_order>& out) {
  look_again_ = never;
  chaos_.wake(now, living, out);
  std::erase_if(timed_, [&](const timed_fault& one) {
    if (one.clock ? clock < *one.clock : now < due_at(one, begin_)) return false;
    if (!one.what.hits_process()) {
      out.push_back({one.what, {}, one.target});
      return true;
    }
    const auto target = std::find_if(living.begin(), living.end(), [&](const auto& process) {
      return process.name.to_string() == one.target;
    });
    if (target == living.end() || chaos_.is_dying(*target)) {
      look_again_ = now + chaos_core::look_again_ns;
      return false;
    }
    chaos_.strike(now, *target, one.what, out);
    return true;
  });
}

}  // namespace tidegate::policies
