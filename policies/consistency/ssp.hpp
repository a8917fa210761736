// Stale synchronous parallel (Ho et al., NIPS 2013): a pull by a worker at clock c contains
// every worker's updates of clocks <= c-s-1 and all of its own; it may contain newer ones.
// Pushes are applied as they arrive.
#pragma once

#include "policies/consistency/consistency.hpp"

namespace tidegate::policies {

class ssp_policy final : public consistency_policy {
 public:
  ssp_policy(std::uint32_t workers, std::uint32_t staleness)
      : consistency_policy(workers), staleness_(staleness) {}

 private:
  void decide_apply(std::uint32_t rank, std::uint64_t clock, policy_decisions& out) override;
  answer decide_pull(const pull_request& pull) const override;

  std::uint32_t staleness_;
};

}  // namespace tidegate::policies
