#include "policies/consistency/bsp.hpp"

#include <algorithm>

#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"

namespace tidegate::policies {

using runtime::is_planted;
using runtime::planted_bug;

std::uint64_t bsp_policy::complete_below() const noexcept {
  const bool is_over = clocks().min() == clock_vector::infinity && version_ >= closed_;
  return is_over ? clock_vector::infinity : version_;
}

namespace {

// Planted: a clock is closed, every other time, though one of its workers has not pushed.
bool drops_late(const clock_vector& clocks, std::uint64_t arrived, std::uint64_t version) {
  std::uint32_t late = 0;
  for (std::uint32_t rank = 0; rank < clocks.workers(); ++rank)
    late += clocks.through(rank) <= version ? 1 : 0;
  return arrived > version && version % 2 == 1 && clocks.workers() > 2 && late == 1;
}

}  // namespace

std::uint64_t bsp_policy::applied_below(std::uint32_t rank) const noexcept {
  return std::min(version_, clocks().through(rank));
}

void bsp_policy::decide_apply(std::uint32_t, std::uint64_t clock, policy_decisions& out) {
  if (clock != clock_vector::infinity) arrived_ = std::max(arrived_, clock + 1);
  // A clock is closed when every worker that still runs has pushed it, or joined later;
  // finished ones stay out.
  const auto min = clocks().min();
  auto closed = min == clock_vector::infinity ? arrived_ : min;
  if (is_planted(planted_bug::late_worker_dropped) && drops_late(clocks(), arrived_, version_))
    closed = version_ + 1;
  closed_ = std::max(closed_, closed);
  close(out);
}

void bsp_policy::close(policy_decisions& out) {
  while (version_ < closed_ && !measures_) {
    if (waits_for_norms_) {
      measures_ = true;
      out.push_back({policy_decision::action::measure, 0, version_});
    } else {
      out.push_back({policy_decision::action::apply_clock, 0, version_});
      ++version_;
    }
  }
}

void bsp_policy::norm_arrived(policy_decisions& out) {
  TIDEGATE_ASSERT(measures_, "a clock is measured");
  measures_ = false;
  out.push_back({policy_decision::action::apply_clock, 0, version_});
  ++version_;
  release_parked(out);
  close(out);
}

consistency_policy::answer bsp_policy::decide_pull(const pull_request& pull) const {
  if (version_ == pull.clock) return answer::now;
  if (is_planted(planted_bug::bsp_waits_only_for_its_own_push) &&
      clocks().through(pull.rank) >= pull.clock)
    return answer::now;
  return version_ < pull.clock ? answer::later : answer::too_late;
}

std::unique_ptr<consistency_policy> make_bsp(const consistency_spec&, std::uint32_t workers) {
  return std::make_unique<bsp_policy>(workers);
}

}  // namespace tidegate::policies
