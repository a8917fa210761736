// Bulk-synchronous parallel (Valiant, CACM 1990): a pull at clock c returns version c exactly,
// the parameters with every worker's update of every clock below c and nothing else.
//
// Where steps wait for the norm of the whole gradient, a clock that is closed is measured
// first, and applied when that norm is known; the next one is measured after that.
#pragma once

#include "policies/consistency/consistency.hpp"

namespace tidegate::policies {

class bsp_policy final : public consistency_policy {
 public:
  explicit bsp_policy(std::uint32_t workers, bool waits_for_norms = false)
      : consistency_policy(workers), waits_for_norms_(waits_for_norms) {}

  // Returns true if this clock is measured, and its norm is not known.
  bool waits_for_norm(std::uint64_t clock) const noexcept {
    return measures_ && clock == version_;
  }
  // Returns true if a clock is measured, and its norm is not known; it is next_clock().
  bool waits_for_norm() const noexcept { return measures_; }
  std::uint64_t next_clock() const noexcept { return version_; }
  // Returns the clock below which all are applied, or will be with what is here.
  std::uint64_t closed_below() const noexcept { return closed_; }
  // Takes in that the norm of the clock that is measured is known (asserted to be so).
  void norm_arrived(policy_decisions& out);

  std::uint64_t complete_below() const noexcept override;
  std::uint64_t applied_below(std::uint32_t rank) const noexcept override;

 private:
  void decide_apply(std::uint32_t rank, std::uint64_t clock, policy_decisions& out) override;
  answer decide_pull(const pull_request& pull) const override;
  void restored(std::uint64_t version) override {
    version_ = arrived_ = closed_ = version;
    measures_ = false;
  }
  void close(policy_decisions& out);

  bool waits_for_norms_;
  bool measures_ = false;      // clock version_
  std::uint64_t version_ = 0;  // clocks applied
  std::uint64_t closed_ = 0;   // clocks that may be
  std::uint64_t arrived_ = 0;  // clocks of which any push arrived
};

}  // namespace tidegate::policies
