#include "policies/consistency/async.hpp"

namespace tidegate::policies {

void async_policy::decide_apply(std::uint32_t rank, std::uint64_t clock,
                                policy_decisions& out) {
  if (clock != clock_vector::infinity)
    out.push_back({policy_decision::action::apply_one, rank, clock});
}

consistency_policy::answer async_policy::decide_pull(const pull_request&) const {
  return answer::now;
}

std::unique_ptr<consistency_policy> make_async(const consistency_spec&, std::uint32_t workers) {
  return std::make_unique<async_policy>(workers);
}

}  // namespace tidegate::policies
