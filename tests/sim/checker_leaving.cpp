// checker: workers that leave for good.
#include <algorithm>

#include "tests/sim/checker.hpp"

namespace tidegate::sim {

bool checker::has_left(const std::string& job, std::uint32_t rank) const {
  const auto at = ever_left_.find(job);
  return at != ever_left_.end() && at->second.contains(rank);
}

bool checker::is_forgiven(const std::string& job, const chunk_state& chunk,
                          const update& one) const {
  return has_left(job, one.rank) && !chunk.at.contains(one) &&
         !chunk.acknowledged.contains(one);
}

// Under bsp a clock says who is left; elsewhere a shard goes by what it has been told so far.
void checker::check_team(const policies::job_spec& job, const updates& with,
                         std::uint32_t team) {
  const auto at = left_.find(job.name);
  std::uint32_t gone = 0;
  std::uint32_t all_gone = 0;
  if (at != left_.end()) {
    const auto clock = with.front().clock;
    for (const auto& [rank, last] : at->second) gone += last <= clock ? 1 : 0;
    all_gone = static_cast<std::uint32_t>(at->second.size());
    for (const auto& one : with)
      if (at->second.contains(one.rank) && one.clock >= at->second.at(one.rank))
        fail("who left", "rank " + std::to_string(one.rank) + " clock " +
                             std::to_string(one.clock) + " is applied, but it left at " +
                             std::to_string(at->second.at(one.rank)));
  }
  const bool bsp = job.consistency.kind == policies::consistency_kind::bsp;
  const bool right =
      bsp ? team == job.workers - gone : team <= job.workers && team >= job.workers - all_gone;
  if (!right)
    fail("who left", "a mean of clock " + std::to_string(with.front().clock) + " is over " +
                         std::to_string(team) + " workers of " + std::to_string(job.workers) +
                         ", " + std::to_string(gone) + " of which have left");
}

}  // namespace tidegate::sim
