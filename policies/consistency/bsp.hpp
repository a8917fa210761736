// Bulk-synchronous parallel (Valiant, CACM 1990): a pull at clock c returns version c exactly,
// the parameters with every worker's update of every clock below c and nothing else.
#pragma once

#include "policies/consistency/consistency.hpp"

namespace tidegate::policies {

class bsp_policy final : public consistency_policy {
 public:
  explicit bsp_policy(std::uint32_t workers) : consistency_policy(workers) {}

  std::uint64_t complete_below() const noexcept override;
  std::uint64_t applied_below(std::uint32_t rank) const noexcept override;

 private:
  void decide_apply(std::uint32_t rank, std::uint64_t clock, policy_decisions& out) override;
  answer decide_pull(const pull_request& pull) const override;
  void restored(std::uint64_t version) override { version_ = arrived_ = version; }

  std::uint64_t version_ = 0;  // clocks applied
  std::uint64_t arrived_ = 0;  // clocks of which any push arrived
};

}  // namespace tidegate::policies
