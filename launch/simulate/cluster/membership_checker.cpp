#include "launch/simulate/cluster/membership_checker.hpp"

#include <algorithm>

namespace tidegate::sim {

bool membership_checker::has_left(const std::string& job, std::uint32_t rank) const {
  const auto at = ever_left_.find(job);
  return at != ever_left_.end() && at->second.contains(rank);
}

std::optional<std::uint64_t> membership_checker::first_join(const std::string& job) const {
  const auto at = first_joins_.find(job);
  if (at == first_joins_.end()) return {};
  return at->second;
}

bool membership_checker::is_of(const policies::job_spec& job, const update& pushed) const {
  bool is = pushed.rank < job.workers;
  if (const auto at = changes_.find(job.name); at != changes_.end())
    for (const auto& change : at->second)
      if (change.rank == pushed.rank && change.clock <= pushed.clock) is = change.joins;
  return is;
}

void membership_checker::changed(const std::string& job,
                                 const std::vector<policies::membership_change>& changes) {
  auto& known = changes_[job];
  if (changes.size() < known.size() || !std::equal(known.begin(), known.end(), changes.begin()))
    log_.fail("who left", "job " + job + " has forgotten who joined or left");
  known = changes;
  for (const auto& change : changes)
    if (!change.joins)
      ever_left_[job].insert(change.rank);
    else if (const auto [at, fresh] = first_joins_.try_emplace(job, change.clock); !fresh)
      at->second = std::min(at->second, change.clock);
}

// Under bsp a clock says who is left; elsewhere a shard goes by what it has been told so far.
void membership_checker::check_contributors(const policies::job_spec& job, const updates& with,
                                            std::uint32_t contributors) {
  const auto clock = with.front().clock;
  std::uint32_t size = 0;
  for (std::uint32_t rank = 0; rank < job.capacity(); ++rank)
    size += is_of(job, {rank, clock}) ? 1 : 0;
  for (const auto& update : with)
    if (!is_of(job, update))
      log_.fail("who left", "rank " + std::to_string(update.rank) + " clock " +
                                std::to_string(update.clock) +
                                " is applied, and is not of the job");
  const bool bsp = job.consistency.kind == policies::consistency_kind::bsp;
  if (bsp ? contributors == size : contributors >= 1 && contributors <= job.capacity()) return;
  log_.fail("who left", "a mean of clock " + std::to_string(clock) + " is over " +
                            std::to_string(contributors) + " workers, where " +
                            std::to_string(size) + " push");
}

}  // namespace tidegate::sim
