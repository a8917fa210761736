#include "policies/ssp.hpp"

namespace tidegate::policies {

void ssp_policy::decide_apply(std::uint32_t rank, std::uint64_t clock, policy_decisions& out) {
  if (clock != clock_vector::infinity)
    out.push_back({policy_decision::what::apply_one, rank, clock});
}

consistency_policy::answer ssp_policy::decide_pull(const pull_request& pull) const {
  const bool own = clocks().through(pull.rank) >= pull.clock;
  // Clocks <= c-s-1 of all: the slowest has c-s clocks in. Below s+1 there is nothing to wait
  // for.
  const bool others = pull.clock <= staleness_ || clocks().min() >= pull.clock - staleness_;
  return own && others ? answer::now : answer::later;
}

}  // namespace tidegate::policies
