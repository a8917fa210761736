// What coordinator_core does for aggregators, and who calls whom because of them.
#include <algorithm>
#include <utility>

#include "policies/consistency/consistency.hpp"
#include "policies/coordinator/core.hpp"
#include "policies/protocol/frame_epoch.hpp"

namespace tidegate::policies {

using runtime::errc;

bool coordinator_core::all_in() const {
  return std::all_of(groups_of_.begin(), groups_of_.end(),
                     [](const shard_group& group) { return group.is_complete(); }) &&
         std::all_of(jobs_.begin(), jobs_.end(), [&](const job_record& job) {
           // Of one that has ended nobody comes back.
           if (job.state == job_state::failed || job.state == job_state::done) return true;
           // Once all have begun, others take the places of those that die.
           return std::none_of(
               job.aggregators.begin(), job.aggregators.end(), [&](const auto& aggregator) {
                 return aggregator.address.empty() ||
                        (!begun_ && aggregator.at == aggregator_state::stage::away);
               });
         });
}

bool coordinator_core::aggregator_joined(std::int64_t now, const std::string& name,
                                         std::uint32_t index, std::string address,
                                         ticket requester, coordinator_effects& out,
                                         std::uint32_t incarnation) {
  using stage = aggregator_state::stage;
  auto* job = find(name);
  const auto subject = "aggregator " + std::to_string(index);
  if (!job || index >= job->aggregators.size()) {
    refuse(requester, errc::invalid_argument, "job '" + name + "' has no " + subject, out);
    return false;
  }
  auto& mine = job->aggregators[index];
  const bool same = mine.incarnation == incarnation && mine.address == address;
  if (!address.empty() && same && mine.at != stage::away) {
    out.answers.push_back({requester, {}, {}});  // it has not heard that it is in
    repeat_calls(now, static_cast<std::size_t>(job - jobs_.data()), {index, true}, out);
    // What it was told while its connection was broken is lost, and calls tell of former ones.
    moves_above(*job, job->sums.aggregators[index].parent, {name, index, true, {}}, out);
    return true;
  }
  if (address.empty() || (incarnation <= mine.incarnation && !same)) {
    refuse(requester, errc::already_exists, subject + " of job " + name + " is there already",
           out);
    return false;
  }
  if (incarnation == 0 || incarnation >= views_max) {
    refuse(requester, errc::over_limit, subject + " of job " + name + " has died too often",
           out);
    return false;
  }
  const bool were_in = all_in();
  const auto number = static_cast<std::size_t>(job - jobs_.data());
  mine = {std::move(address), incarnation, stage::waiting};
  answer_for_the_dead(now, number, {index, true}, out);  // of one that is not missed yet
  event(now, "aggregator_joined",
        name + " " + subject +
            (incarnation > 1 ? " incarnation " + std::to_string(incarnation) : ""));
  out.answers.push_back({requester, {}, {}});
  if (!were_in && all_in()) all_joined(now, out);
  if (were_in) set_up_aggregators(number, out);
  // It was taken for dead, and has its job already.
  if (same)
    moves_above(*job, job->sums.aggregators[index].parent, {name, index, true, {}}, out);
  return true;
}

void coordinator_core::aggregator_lost(std::int64_t now, const std::string& name,
                                       std::uint32_t index, const std::string& why,
                                       coordinator_effects& out) {
  event(now, "aggregator_lost", name + " aggregator " + std::to_string(index) + ": " + why);
  auto* job = find(name);
  if (job == nullptr) return;
  job->aggregators[index].at = aggregator_state::stage::away;
  answer_for_the_dead(now, static_cast<std::size_t>(job - jobs_.data()), {index, true}, out);
}

// Shards, and aggregators: what workers need before they can be let in.
// Shards know already what the process before has told them, and say so.
void coordinator_core::all_joined(std::int64_t now, coordinator_effects& out) {
  begun_ = true;
  pair_up(out);
  for (std::uint32_t shard = 0; shard < slots_.shards(); ++shard) move_on(shard, out);
  for (std::size_t index = 0; index < jobs_.size(); ++index) {
    const auto& job = jobs_[index];
    if (job.state == job_state::failed && goes_on_) close_below(job, out);
    if (job.state != job_state::failed && job.state != job_state::done) open_job(index, out);
    if (job.at_end) all_finished(now, index, out);
  }
  let_leave(out);
  admit_early(out);
}

void coordinator_core::begin_without(bool were_in, std::int64_t now, coordinator_effects& out) {
  if (!were_in && all_in()) all_joined(now, out);
}

open_job_call coordinator_core::job_call(const job_record& job) const {
  return {job.token,
          frame_epoch(epoch_, 0),
          job.spec.capacity(),
          job.spec.workers,
          job.spec.name,
          job.spec.consistency,
          job.spec.reduce,
          workers_come_back(job.spec.on_worker_loss),
          job.sums.top,
          {},
          {},
          {},
          0,
          false,
          cluster_.has_chains()};
}

open_job_call coordinator_core::call_of(const job_record& job, std::uint32_t aggregator) const {
  const auto& place = job.sums.aggregators[aggregator];
  const auto& served = job.aggregators[aggregator];
  auto opening = job_call(job);
  opening.epoch = epoch_of(served);
  opening.members = place.members;
  opening.nodes = place.nodes;
  opening.upstream = addresses_of(job, place.parent);
  opening.upstream_epochs = epochs_of(job, place.parent);
  opening.incarnation = served.incarnation;
  opening.upstream_moves = cluster_.has_chains() || place.parent != no_aggregator;
  return opening;
}

// Calls to one process are carried out in this order; whoever is called knows its members
// before they hear of a table. Aggregators know what the process before has told them, or took
// the places of others meanwhile: those are set up.
void coordinator_core::open_job(std::size_t index, coordinator_effects& out) {
  const auto& job = jobs_[index];
  const auto group = make_group(index, 0);
  auto opening = job_call(job);
  for (std::uint32_t shard = 0; shard < cluster_.shards; ++shard)
    for (const auto& recipient : members_of(shard)) {
      auto mine = opening;
      // No worker's frame is for a replica.
      mine.epoch = recipient == primary_of(shard)
                       ? frame_epoch(epoch_, groups_of_[shard].serving_view())
                       : 0;
      call(group, recipient, std::move(mine), out);
      for (const auto& change : job.changes)
        call(group, recipient, roster_call{job.token, change}, out);
      if (goes_on_)
        call(group, recipient, hold_call{job.token, clock_vector::infinity, 0}, out);
    }
  if (!goes_on_) open_aggregators(group, index, out);
  bool any = false;
  for (const auto& table : tables_) {
    if (table.job != index) continue;
    any = true;
    open_at_shards(table.grant.table, 0, out);
  }
  if (!any) create_tables(index, first_tables(job), 0, out);
  set_up_aggregators(index, out);
}

void coordinator_core::open_aggregators(group_id group, std::size_t index,
                                        coordinator_effects& out) {
  auto& job = jobs_[index];
  const auto count = static_cast<std::uint32_t>(job.aggregators.size());
  for (std::uint32_t at = 0; at < count; ++at) {
    job.aggregators[at].at = aggregator_state::stage::ready;
    call(group, {at, true}, call_of(job, at), out);
  }
  for (std::uint32_t at = 0; at < count; ++at)
    for (const auto& above : upstream_of(job.sums.aggregators[at].parent))
      admit_nodes(group, above, at, out);
}

void coordinator_core::admit_nodes(group_id group, callee above, std::uint32_t at,
                                   coordinator_effects& out) {
  const auto& job = jobs_[groups_.at(group).job];
  const auto& aggregator = job.aggregators[at];
  for (const auto& node : job.sums.aggregators[at].nodes)
    call(group, above,
         admit_worker_call{
             job.token, node.first, aggregator.incarnation, aggregator.address, {}, false},
         out);
}

std::vector<coordinator_core::callee> coordinator_core::upstream_of(
    std::uint32_t aggregator) const {
  if (aggregator != no_aggregator) return {{aggregator, true}};
  std::vector<callee> shards;
  for (std::uint32_t shard = 0; shard < cluster_.shards; ++shard)
    for (const auto& recipient : members_of(shard)) shards.push_back(recipient);
  return shards;
}

std::vector<std::string> coordinator_core::addresses_of(const job_record& job,
                                                        std::uint32_t aggregator) const {
  if (aggregator != no_aggregator) return {job.aggregators[aggregator].address};
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
          of.wanted,
          of.spec.capacity(),
          of.spec.seed,
          to_string(of.spec.consistency),
          of.spec.not_finite,
          addresses_of(of, aggregator),
          epochs_of(of, aggregator),
          aggregator != no_aggregator,
          aggregator != no_aggregator && of.spec.consistency.kind == consistency_kind::bsp &&
              workers_come_back(of.spec.on_worker_loss),
          cluster_.has_chains()};
}

// Nobody waits for the answers; who does not know the job has nothing to close.
void coordinator_core::close_below(const job_record& job, coordinator_effects& out) {
  for (std::uint32_t shard = 0; shard < cluster_.shards; ++shard)
    for (const auto& recipient : members_of(shard))
      out.calls.push_back({shard, ++last_id_, close_job_call{job.token}, "", recipient.member});
  for (std::uint32_t at = 0; at < job.aggregators.size(); ++at)
    if (!job.aggregators[at].address.empty())
      out.calls.push_back({at, ++last_id_, close_job_call{job.token}, job.spec.name, 0});
}

}  // namespace tidegate::policies
