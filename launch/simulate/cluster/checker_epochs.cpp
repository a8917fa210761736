// checker: what may become of a chunk when everything begins again.
#include <algorithm>

#include "launch/simulate/cluster/checker.hpp"

namespace tidegate::sim {

// Whether this version has just what the cut says of it. Sums of aggregators are pushed under
// other ranks than what they are made of; who joins pushes to shards itself.
bool checker::is_cut(const policies::job_spec& job, const chunk_history& chunk,
                     const chunk_history::contains& has,
                     const std::vector<policies::rank_progress>& ranks) const {
  const auto first = job.aggregators.kind != policies::aggregators_kind::none ? job.workers : 0;
  return std::all_of(chunk.written.begin(), chunk.written.end(), [&](const auto& entry) {
    const auto& candidate = entry.first;
    return candidate.rank < first || membership_.has_left(job.name, candidate.rank) ||
           has(candidate) == (candidate.clock < ranks[candidate.rank].next);
  });
}

void checker::restore_chunk(std::uint64_t job, std::uint32_t table, const std::string& name,
                            std::uint32_t chunk,
                            const std::vector<policies::rank_progress>& ranks,
                            const served_values& values) {
  names_[{job, table}] = name;
  auto* at = find(job, table, chunk);
  const auto where = "table " + name + " chunk " + std::to_string(chunk) + ": ";
  if (!at) return fail("checkpoints", where + "goes on, though it never was");
  at->opened_in = epoch_;
  check_early_seeds(job, table, chunk, values.parameters);
  const auto& spec = jobs_.at(job).spec;
  if (!goes_back(spec, *at, values, ranks))
    fail("checkpoints",
         where + "goes on from what never was, or says that it has other pushes");
  at->forget_ranks_from(spec.workers);
}

bool checker::goes_back(const policies::job_spec& job, chunk_history& chunk,
                        const served_values& values,
                        const std::vector<policies::rank_progress>& ranks) const {
  const auto same = [&](const chunk_history::version& found) { return found.has(values); };
  for (auto number = chunk.versions.size(); number-- > 0;) {
    const auto& entry = chunk.versions[number];
    if (!same(entry) || !is_cut(job, chunk, chunk.updates_in(entry), ranks)) continue;
    chunk.roll_back(number);
    return true;
  }
  for (const auto& [ghost, with] : chunk.ghosts) {
    const auto has = [had = &with](const update& pushed) { return had->contains(pushed); };
    if (!same(ghost) || !is_cut(job, chunk, has, ranks)) continue;
    chunk.return_to(ghost, with);
    return true;
  }
  return false;
}

bool checker::may_not_go_on(const std::string& why) const {
  return std::any_of(expected_.begin(), expected_.end(), [&](const auto& entry) {
    const auto& spec = entry.second.spec;
    const bool is_refusal =
        why.find("job " + spec.name + " failed: it cannot go on from") != std::string::npos &&
        why.find("had left by then, behind an aggregator") != std::string::npos;
    return is_refusal && spec.aggregators.kind != policies::aggregators_kind::none &&
           spec.consistency.kind != policies::consistency_kind::bsp &&
           membership_.anybody_left(spec.name);
  });
}

void checker::handed(std::uint64_t job, std::uint32_t table, std::uint32_t chunk,
                     std::span<const float> parameters) {
  if (knows(job, table, chunk)) return followed(job, table, chunk, parameters);
  early_seeds_.emplace(std::tuple(job, table, chunk),
                       std::vector<float>(parameters.begin(), parameters.end()));
}

void checker::check_early_seeds(std::uint64_t job, std::uint32_t table, std::uint32_t chunk,
                                std::span<const float> first_values) {
  const auto [first, last] = early_seeds_.equal_range({job, table, chunk});
  for (auto seed = first; seed != last; ++seed)
    if (!std::equal(first_values.begin(), first_values.end(), seed->second.begin(),
                    seed->second.end()))
      fail("same bits",
           "table " + std::to_string(table) + " chunk " + std::to_string(chunk) +
               ": a replica was handed something else than whoever serves it begins with");
  early_seeds_.erase(first, last);
}

void checker::followed(std::uint64_t job, std::uint32_t table, std::uint32_t chunk,
                       std::span<const float> parameters) {
  const auto* at = find(job, table, chunk);
  const auto same = [&](const chunk_history::version& found) {
    return std::equal(parameters.begin(), parameters.end(), found.parameters.begin(),
                      found.parameters.end());
  };
  if (!at || std::none_of(at->versions.rbegin(), at->versions.rend(), same))
    fail("same bits", "table " + std::to_string(table) + " chunk " + std::to_string(chunk) +
                          ": a replica has what the primary never had");
}

void checker::promoted(std::uint64_t job, std::uint32_t table, std::uint32_t chunk,
                       const policies::shard_core::cut_state& has, const served_values& values,
                       const std::set<process_id>& before) {
  anybody_promoted_ = true;
  auto* at = find(job, table, chunk);
  const auto where =
      "table " + std::to_string(table) + " chunk " + std::to_string(chunk) + ": ";
  if (!at) return fail("replicas", where + "promoted, though it never was");
  for (auto number = at->versions.size(); number-- > 0;) {
    const auto& seen = at->versions[number];
    if (!seen.has(values)) continue;
    if (!is_cut(jobs_.at(job).spec, *at, at->updates_in(seen), has.ranks)) continue;
    for (const auto& [update, place] : at->at)
      if (place >= seen.updates && at->acknowledged.contains(update))
        return fail("exactly once", where + "rank " + std::to_string(update.rank) + " clock " +
                                        std::to_string(update.clock) +
                                        " was acknowledged and died with the primary");
    for (auto later = number + 1; later < at->versions.size(); ++later)
      at->ghosts.push_back(at->ghost_of(at->versions[later]));
    // One that was out before has its own.
    for (const auto ticket : before)
      forks_.try_emplace({ticket, {job, names_.at({job, table}), chunk}}, *at);
    return at->roll_back(number);
  }
  fail("replicas", where + "promoted with what never was, or says that it has other pushes");
}

void checker::promoted_late(process_id id, std::uint64_t job, std::uint32_t table,
                            std::uint32_t chunk, const policies::shard_core::cut_state& has,
                            const served_values& values) {
  anybody_promoted_ = true;
  const auto* at = find(job, table, chunk);
  const auto where =
      "table " + std::to_string(table) + " chunk " + std::to_string(chunk) + ": ";
  if (!at) return;  // nobody has served it
  auto& fork = forks_[{id, {job, names_.at({job, table}), chunk}}] = *at;
  if (!goes_back(jobs_.at(job).spec, fork, values, has.ranks))
    fail("replicas", where + "promoted late with what never was");
}

void checker::acknowledged(std::uint64_t job, std::uint32_t table, std::uint32_t chunk,
                           const update& pushed) {
  auto* at = find(job, table, chunk);
  if (!at) return;
  at->acknowledged.insert(pushed);
  if (at->written.contains(pushed) && !at->at.contains(pushed))
    fail("exactly once", "table " + std::to_string(table) + " chunk " + std::to_string(chunk) +
                             ": rank " + std::to_string(pushed.rank) + " clock " +
                             std::to_string(pushed.clock) +
                             " is acknowledged, and who serves does not have it");
}

}  // namespace tidegate::sim
