// The policy of an aggregator's chunk: its members together are one worker to whoever applies.
//
// A clock is handed on when every member that still runs has pushed or skipped it, and is
// settled when upstream has answered. Members are answered with what the last pull upstream
// brought:
//   bsp    version c for a pull at clock c, as everywhere;
//   ssp    a pull that was made at clock c or later, when all members' updates below c had been
//          handed on: their own are in, and the others' as far as upstream's bound says;
//   async  a pull that was made by a member at clock c or later; nobody waits for the others.
// A member that has been given a pull's result and asks again gets a newer one (ssp, async).
// One pull is under way at a time, as upstream takes no more of one worker and chunk.
#pragma once

#include <array>

#include "policies/consistency/consistency.hpp"
#include "policies/model/per_rank.hpp"
#include "runtime/base/limits.hpp"

namespace tidegate::policies {

class relay_policy final : public consistency_policy {
 public:
  // `parts`: sums that each clock is handed on in. The frames of several may overtake each
  // other, so that a pull waits for their answers where it must find them applied.
  // `keeps_current`: what is here stays while another version comes, as a member that comes
  // back may ask for it; what it asks for that is not here is asked for upstream, as an
  // aggregator that took the place of another has nothing of what that one kept.
  relay_policy(const consistency_spec& spec, std::uint32_t workers, std::size_t parts,
               bool keeps_current);

  // Takes in that upstream has answered the sum of `clock`. Returns false if that was known.
  bool handed_on(std::uint64_t clock, policy_decisions& out);
  struct received {
    std::uint64_t version = 0;
    std::uint64_t min_clock = 0;
  };
  // Takes in what the pull under way has brought, and answers pulls from it.
  void pulled(const received& version, policy_decisions& out);
  // Takes in that the pull under way was refused: parked pulls of its clock or an earlier one
  // are too late.
  void pull_refused(policy_decisions& out);
  // Returns true if a pull is under way; then asked() is that pull.
  bool asking() const noexcept { return asking_; }
  const pull_request& asked() const noexcept { return asked_; }
  // Returns the clock below which all have been handed on, though upstream may not have
  // answered them.
  std::uint64_t handed_on_below() const noexcept { return gathered_; }
  // Returns true if a new version may come to where the current one is.
  bool overwrites() const noexcept { return is_bsp() && !keeps_current_; }

  std::uint64_t complete_below() const noexcept override { return min_clock_; }
  std::uint64_t applied_below(std::uint32_t rank) const noexcept override;

 private:
  static constexpr auto window = runtime::limits::clocks_in_flight_max;

  void decide_apply(std::uint32_t rank, std::uint64_t clock, policy_decisions& out) override;
  answer decide_pull(const pull_request& pull) const override;
  bool has_parameters() const noexcept override { return has_; }
  void pull_answered(std::uint32_t rank) override { seen_.change(rank) = pulls_; }
  void decide_ask(policy_decisions& out) override;
  void restored(std::uint64_t clock) override { gathered_ = arrived_ = settled_ = clock; }
  bool is_bsp() const noexcept { return spec_.kind == consistency_kind::bsp; }
  bool may_ask(const pull_request& pull) const;
  const pull_request* next_to_ask() const;

  consistency_spec spec_;
  bool waits_for_parts_;
  bool keeps_current_;
  std::uint64_t gathered_ = 0;  // clocks handed on
  std::uint64_t arrived_ = 0;   // clocks of which any push arrived
  std::uint64_t settled_ = 0;
  std::array<bool, window> answered_{};  // by clock modulo window
  bool has_ = false;                     // parameters that members may be given
  std::uint64_t have_ = 0;  // bsp: their version; else the clock that they were asked for at
  std::uint64_t had_ = clock_vector::infinity;  // bsp: the version before, which is kept
  std::uint64_t min_clock_ = 0;
  std::uint64_t pulls_ = 0;       // made so far
  per_rank<std::uint64_t> seen_;  // the last one that it was given
  bool asking_ = false;
  pull_request asked_;
};

}  // namespace tidegate::policies
