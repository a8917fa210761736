#include "policies/consistency/consistency.hpp"

#include <algorithm>

#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"

namespace tidegate::policies {

using runtime::is_planted;
using runtime::planted_bug;

void consistency_policy::push_arrived(std::uint32_t rank, std::uint64_t clock,
                                      policy_decisions& out) {
  TIDEGATE_ASSERT(clock == clocks_.through(rank),
                  "pushes of a worker arrive in clock order, once");
  const auto min = clocks_.min();
  const auto complete = complete_below();
  clocks_.advance(rank, clock + 1);
  decide_apply(rank, clock, out);
  // Thousands may be parked, and most pushes free none of them.
  if (clocks_.min() != min || complete_below() != complete)
    release_parked(out);
  else
    release_own(rank, out);
  decide_ask(out);
}

void consistency_policy::pull_arrived(const pull_request& pull, policy_decisions& out) {
  using action = policy_decision::action;
  switch (judge(pull)) {
    case answer::now:
      pull_answered(pull.rank);
      out.push_back({action::answer, pull.rank, pull.clock});
      break;
    case answer::too_late:
      out.push_back({action::too_late, pull.rank, pull.clock});
      break;
    case answer::later:
      if (!waits_.is_touched()) parked_.reserve(waits_.size());
      parked_.push_back(pull);
      waits_.change(pull.rank) = 1;
      decide_ask(out);
      break;
  }
}

void consistency_policy::worker_finished(std::uint32_t rank, policy_decisions& out) {
  if (clocks_.through(rank) == clock_vector::infinity) return;
  clocks_.finish(rank);
  decide_apply(rank, clock_vector::infinity, out);
  release_parked(out);
  decide_ask(out);
}

void consistency_policy::catch_up(policy_decisions& out) {
  decide_apply(0, clock_vector::infinity, out);
  release_parked(out);
}

void consistency_policy::restore(std::uint64_t version,
                                 const std::vector<std::uint64_t>& through) {
  for (std::uint32_t rank = 0; rank < through.size(); ++rank)
    if (clocks_.through(rank) != clock_vector::infinity && through[rank] > 0)
      clocks_.advance(rank, through[rank]);
  restored(version);
}

void consistency_policy::worker_replaced(std::uint32_t rank) {
  if (waits_.at(rank) == 0) return;
  waits_.change(rank) = 0;
  std::erase_if(parked_, [&](const pull_request& pull) { return pull.rank == rank; });
}

consistency_policy::answer consistency_policy::judge(const pull_request& pull) const {
  if (!has_parameters()) return answer::later;
  if (pull.is_final && is_planted(planted_bug::everything_is_not_waited_for))
    return answer::now;
  if (pull.is_final) return complete_below() >= pull.clock ? answer::now : answer::later;
  return decide_pull(pull);
}

// True: it waits no more.
bool consistency_policy::release(const pull_request& pull, policy_decisions& out) {
  using action = policy_decision::action;
  const auto verdict = judge(pull);
  if (verdict == answer::later)
    return is_planted(planted_bug::parked_pull_forgotten) && parked_.size() > 2;
  if (verdict == answer::now) pull_answered(pull.rank);
  waits_.change(pull.rank) = 0;
  out.push_back(
      {verdict == answer::now ? action::answer : action::too_late, pull.rank, pull.clock});
  return true;
}

void consistency_policy::release_parked(policy_decisions& out) {
  std::erase_if(parked_, [&](const pull_request& pull) { return release(pull, out); });
}

void consistency_policy::release_own(std::uint32_t rank, policy_decisions& out) {
  if (waits_.at(rank) == 0) return;
  std::erase_if(parked_, [&](const pull_request& pull) {
    return pull.rank == rank && release(pull, out);
  });
}

}  // namespace tidegate::policies
