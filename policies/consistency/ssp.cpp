#include "policies/consistency/ssp.hpp"

#include "runtime/base/planted.hpp"

namespace tidegate::policies {

using runtime::is_planted;
using runtime::planted_bug;

void ssp_policy::decide_apply(std::uint32_t rank, std::uint64_t clock, policy_decisions& out) {
  if (clock != clock_vector::infinity)
    out.push_back({policy_decision::action::apply_one, rank, clock});
}

consistency_policy::answer ssp_policy::decide_pull(const pull_request& pull) const {
  const bool own = clocks().through(pull.rank) >= pull.clock;
  // Clocks <= c-s-1 of all: the slowest has c-s clocks in. Below s+1 there is nothing to wait
  // for.
  if (is_planted(planted_bug::ssp_off_by_one) && pull.clock > staleness_ + 1)
    return own && clocks().min() + 1 >= pull.clock - staleness_ ? answer::now : answer::later;
  const bool others = pull.clock <= staleness_ || clocks().min() >= pull.clock - staleness_;
  return own && others ? answer::now : answer::later;
}

std::unique_ptr<consistency_policy> make_ssp(const consistency_spec& spec,
                                             std::uint32_t workers) {
  return std::make_unique<ssp_policy>(workers, spec.staleness);
}

}  // namespace tidegate::policies
