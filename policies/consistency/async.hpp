// Fully asynchronous: pushes are applied as they arrive, pulls are answered at once with the
// latest version.
#pragma once

#include "policies/consistency/consistency.hpp"

namespace tidegate::policies {

class async_policy final : public consistency_policy {
 public:
  explicit async_policy(std::uint32_t workers) : consistency_policy(workers) {}

 private:
  void decide_apply(std::uint32_t rank, std::uint64_t clock, policy_decisions& out) override;
  answer decide_pull(const pull_request& pull) const override;
};

}  // namespace tidegate::policies
