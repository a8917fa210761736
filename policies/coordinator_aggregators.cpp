// What coordinator_core does for aggregators, and who calls whom because of them.
#include <algorithm>
#include <utility>

#include "policies/consistency.hpp"
#include "policies/coordinator_core.hpp"
#include "policies/frame_epoch.hpp"

namespace tidegate::policies {

using runtime::errc;

bool coordinator_core::all_in() const {
  return std::all_of(groups_of_.begin(), groups_of_.end(),
                     [](const shard_group& group) { return group.is_complete(); }) &&
         std::all_of(jobs_.begin(), jobs_.end(), [](const job_record& job) {
           return std::none_of(job.aggregator_addresses.begin(), job.aggregator_addresses.end(),
                               [](const std::string& address) { return address.empty(); });
         });
}

bool coordinator_core::aggregator_joined(std::int64_t now, const std::string& name,
                                         std::uint32_t index, std::string address, ticket who,
                                         coordinator_effects& out) {
  auto* job = find(name);
  const auto what = "aggregator " + std::to_string(index);
  if (!job || index >= job->aggregator_addresses.size()) {
    refuse(who, errc::invalid_argument, "job '" + name + "' has no " + what, out);
    return false;
  }
  auto& mine = job->aggregator_addresses[index];
  if (!address.empty() && mine == address) {
    out.answers.push_back({who, {}, {}});  // it has not heard that it is in
    return true;
  }
  if (address.empty() || !mine.empty()) {
    refuse(who, errc::already_exists, what + " of job " + name + " is there already", out);
    return false;
  }
  mine = std::move(address);
  event(now, "aggregator_joined", name + " " + what);
  out.answers.push_back({who, {}, {}});
  if (all_in()) all_joined(now, out);
  return true;
}

void coordinator_core::aggregator_lost(std::int64_t now, const std::string& job,
                                       std::uint32_t index, const std::string& why) {
  event(now, "aggregator_lost", job + " aggregator " + std::to_string(index) + ": " + why);
}

// Shards, and aggregators: what workers need before they can be let in.
// Shards know already what the process before has told them, and say so.
void coordinator_core::all_joined(std::int64_t now, coordinator_effects& out) {
  pair_up(out);
  for (std::size_t index = 0; index < jobs_.size(); ++index) {
    const auto& job = jobs_[index];
    if (job.state == job_state::failed && goes_on_) close_below(job, out);
    if (job.state != job_state::failed && job.state != job_state::done) open_job(index, out);
    if (job.at_end) all_finished(now, index, out);
  }
  admit_early(out);
}

open_job_call coordinator_core::job_call(const job_record& job) const {
  return {job.token,
          frame_epoch(epoch_, 0),
          job.spec.workers,
          job.spec.name,
          job.spec.consistency,
          job.spec.reduce,
          job.spec.on_worker_loss == worker_loss_rule::restart,
          {},
          {},
          {},
          {},
          cluster_.replicas > 0};
}

// Calls to one process are carried out in this order; whoever is called knows its members
// before they hear of a table.
void coordinator_core::open_job(std::size_t index, coordinator_effects& out) {
  const auto& job = jobs_[index];
  const auto group = make_group(index, 0);
  auto opening = job_call(job);
  if (!job.sums.aggregators.empty()) opening.members = job.sums.top;
  for (std::uint32_t shard = 0; shard < cluster_.shards; ++shard)
    for (const auto& one : members_of(shard)) {
      auto mine = opening;
      // No worker's frame is for a replica.
      mine.epoch =
          one == primary_of(shard) ? frame_epoch(epoch_, groups_of_[shard].serving_view()) : 0;
      call(group, one, std::move(mine), out);
    }
  for (std::uint32_t at = 0; at < job.sums.aggregators.size(); ++at) {
    const auto& place = job.sums.aggregators[at];
    opening.members = place.members;
    opening.nodes = place.nodes;
    opening.upstream = addresses_of(job, place.parent);
    opening.upstream_epochs = epochs_of(place.parent);
    call(group, {at, true}, opening, out);
  }
  for (std::uint32_t at = 0; at < job.sums.aggregators.size(); ++at) {
    const auto& place = job.sums.aggregators[at];
    for (const auto& above : upstream_of(place.parent))
      for (const auto& node : place.nodes)
        call(group, above,
             admit_worker_call{job.token, node.first, 1, job.aggregator_addresses[at], {}},
             out);
  }
  bool any = false;
  for (const auto& table : tables_) {
    if (table.job != index) continue;
    any = true;
    open_at_shards(table.grant.table, 0, out);
  }
  if (!any) create_tables(index, first_tables(job), 0, out);
}

std::vector<coordinator_core::callee> coordinator_core::upstream_of(
    std::uint32_t aggregator) const {
  if (aggregator != no_aggregator) return {{aggregator, true}};
  std::vector<callee> shards;
  for (std::uint32_t shard = 0; shard < cluster_.shards; ++shard)
    for (const auto& one : members_of(shard)) shards.push_back(one);
  return shards;
}

std::vector<std::string> coordinator_core::addresses_of(const job_record& job,
                                                        std::uint32_t aggregator) const {
  if (aggregator != no_aggregator) return {job.aggregator_addresses[aggregator]};
  std::vector<std::string> addresses;
  for (const auto& group : groups_of_) addresses.push_back(group.primary_address());
  return addresses;
}

// After the shards, from the top down: who is told of a table may rely on those above.
void coordinator_core::stage_tables(const job_record& job, const open_table_call& call,
                                    group_id group) {
  auto& later = groups_.at(group).later;
  later.resize(job.sums.depths());
  for (std::uint32_t at = 0; at < job.sums.aggregators.size(); ++at) {
    const auto& place = job.sums.aggregators[at];
    auto mine = call;
    if (place.parent != no_aggregator)
      for (auto& chunk : mine.places) chunk.shard = 0;
    later[later.size() - 1 - place.depth].push_back({{at, true}, std::move(mine)});
  }
}

worker_welcome coordinator_core::welcome(const job_record& of, std::uint32_t rank,
                                         std::uint64_t first_clock) const {
  const auto aggregator = of.sums.of_worker[rank];
  return {of.token,
          epoch_,
          first_clock,
          of.spec.workers,
          of.spec.seed,
          to_string(of.spec.consistency),
          of.spec.not_finite,
          addresses_of(of, aggregator),
          epochs_of(aggregator),
          aggregator != no_aggregator,
          aggregator != no_aggregator && of.spec.consistency.kind == consistency_kind::bsp &&
              of.spec.on_worker_loss == worker_loss_rule::restart,
          cluster_.replicas > 0};
}

// Nobody waits for the answers; who does not know the job has nothing to close.
void coordinator_core::close_below(const job_record& job, coordinator_effects& out) {
  for (std::uint32_t shard = 0; shard < cluster_.shards; ++shard)
    for (const auto& one : members_of(shard))
      out.calls.push_back({shard, ++last_id_, close_job_call{job.token}, "", one.member});
  for (std::uint32_t at = 0; at < job.aggregator_addresses.size(); ++at)
    if (!job.aggregator_addresses[at].empty())
      out.calls.push_back({at, ++last_id_, close_job_call{job.token}, job.spec.name, 0});
}

}  // namespace tidegate::policies
