#include "policies/consistency/relay.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/planted.hpp"

namespace tidegate::policies {

using runtime::is_planted;
using runtime::planted_bug;

relay_policy::relay_policy(const consistency_spec& spec, std::uint32_t workers,
                           std::size_t parts, bool keeps_current)
    : consistency_policy(workers),
      spec_(spec),
      waits_for_parts_(spec.kind == consistency_kind::ssp && parts > 1),
      keeps_current_(keeps_current),
      seen_(workers) {}

std::uint64_t relay_policy::applied_below(std::uint32_t rank) const noexcept {
  return std::min(settled_, clocks().through(rank));
}

void relay_policy::decide_apply(std::uint32_t, std::uint64_t clock, policy_decisions& out) {
  if (clock != clock_vector::infinity) arrived_ = std::max(arrived_, clock + 1);
  const auto closed = std::min(clocks().min(), arrived_);
  for (; gathered_ < closed; ++gathered_)
    out.push_back({policy_decision::action::hand_on, 0, gathered_});
}

bool relay_policy::handed_on(std::uint64_t clock, policy_decisions& out) {
  if (clock < settled_ || clock >= gathered_) return false;
  if (std::exchange(answered_[clock % window], true)) return false;
  for (; settled_ < gathered_ && answered_[settled_ % window]; ++settled_) {
    answered_[settled_ % window] = false;
    out.push_back({policy_decision::action::settle, 0, settled_});
  }
  decide_ask(out);
  return true;
}

consistency_policy::answer relay_policy::decide_pull(const pull_request& pull) const {
  if (is_bsp()) {
    if (have_ == pull.clock) return answer::now;
    // One that is kept is found there.
    if (pull.clock == had_) return answer::too_late;
    const bool asks = keeps_current_ && !is_planted(planted_bug::older_version_not_asked_for);
    return asks || have_ < pull.clock ? answer::later : answer::too_late;
  }
  return have_ >= pull.clock && seen_.at(pull.rank) < pulls_ ? answer::now : answer::later;
}

bool relay_policy::may_ask(const pull_request& pull) const {
  if (pull.clock == clock_vector::infinity) return clocks().min() == clock_vector::infinity;
  if (spec_.kind == consistency_kind::async && !pull.is_final) return true;
  return (waits_for_parts_ ? settled_ : gathered_) >= pull.clock;
}

// One of everything waits upstream for workers elsewhere, so that those which do not go first.
const pull_request* relay_policy::next_to_ask() const {
  const pull_request* found = nullptr;
  for (const auto& pull : parked_pulls()) {
    if (!may_ask(pull)) continue;
    if (!pull.is_final) return &pull;
    if (!found) found = &pull;
  }
  return found;
}

void relay_policy::decide_ask(policy_decisions& out) {
  const auto* pull = asking_ ? nullptr : next_to_ask();
  if (!pull) return;
  asking_ = true;
  asked_ = *pull;
  if (overwrites()) has_ = false;
  out.push_back({policy_decision::action::ask, pull->rank, pull->clock});
}

void relay_policy::pulled(const received& version, policy_decisions& out) {
  asking_ = false;
  if (is_bsp() && keeps_current_ && has_ && version.version != have_) had_ = have_;
  has_ = true;
  ++pulls_;
  have_ = is_bsp() ? version.version : std::max(have_, asked_.clock);
  min_clock_ = version.min_clock;
  release_parked(out);
  decide_ask(out);
}

// Who asks for a later clock may be luckier.
void relay_policy::pull_refused(policy_decisions& out) {
  asking_ = false;
  std::vector<std::uint32_t> refused;
  for (const auto& pull : parked_pulls()) {
    if (pull.clock > asked_.clock) continue;
    out.push_back({policy_decision::action::too_late, pull.rank, pull.clock});
    refused.push_back(pull.rank);
  }
  for (const auto rank : refused) worker_replaced(rank);
  decide_ask(out);
}

}  // namespace tidegate::policies
