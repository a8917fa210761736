#include "policies/coordinator/aggregator_recovery.hpp"

#include <algorithm>
#include <utility>

#include "policies/coordinator/state.hpp"
#include "policies/protocol/frame_epoch.hpp"

namespace tidegate::policies::coordination {

using runtime::errc;

bool aggregator_recovery::joined(std::int64_t now, const std::string& name, std::uint32_t index,
                                 std::string address, ticket requester,
                                 coordinator_effects& out, std::uint32_t incarnation) {
  using stage = aggregator_state::stage;
  auto* job = state_.jobs.find(name);
  const auto subject = "aggregator " + std::to_string(index);
  if (!job || index >= job->aggregators.size()) {
    refuse(requester, errc::invalid_argument, "job '" + name + "' has no " + subject, out);
    return false;
  }
  auto& mine = job->aggregators[index];
  const bool same = mine.incarnation == incarnation && mine.address == address;
  if (!address.empty() && same && mine.at != stage::away) {
    out.answers.push_back({requester, {}, {}});  // it has not heard that it is in
    state_.calls.repeat_calls(now, state_.jobs.index_of(*job), {index, true}, out);
    // What it was told while its connection was broken is lost, and calls tell of former ones.
    state_.replicas.tell_moves_above(
        *job, job->sums.aggregators[index].parent,
        {.job = name, .index = index, .aggregates = true, .message = {}}, out);
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
  const bool were_in = state_.lifecycle.all_in();
  const auto number = state_.jobs.index_of(*job);
  mine = {.address = std::move(address), .incarnation = incarnation, .at = stage::waiting};
  state_.calls.answer_for_the_dead(now, number, {index, true},
                                   out);  // of one that is not missed yet
  state_.events.add(now, "aggregator_joined",
                    name + " " + subject +
                        (incarnation > 1 ? " incarnation " + std::to_string(incarnation) : ""),
                    fields_of({.role = process_role::aggregator, .job = name, .index = index}));
  out.answers.push_back({requester, {}, {}});
  state_.lifecycle.begin_if_all_in(were_in, now, out);
  if (were_in) set_up(number, out);
  // It was taken for dead, and has its job already.
  if (same)
    state_.replicas.tell_moves_above(
        *job, job->sums.aggregators[index].parent,
        {.job = name, .index = index, .aggregates = true, .message = {}}, out);
  return true;
}

void aggregator_recovery::lost(std::int64_t now, const std::string& name, std::uint32_t index,
                               const std::string& why, coordinator_effects& out) {
  state_.events.add(
      now, "aggregator_lost", name + " aggregator " + std::to_string(index) + ": " + why,
      fields_of({.role = process_role::aggregator, .job = name, .index = index}, why));
  auto* job = state_.jobs.find(name);
  if (job == nullptr || index >= job->aggregators.size()) return;
  job->aggregators[index].at = aggregator_state::stage::away;
  state_.calls.answer_for_the_dead(now, state_.jobs.index_of(*job), {index, true}, out);
}

void aggregator_recovery::open(group_id group, std::size_t index, coordinator_effects& out) {
  auto& job = state_.jobs[index];
  const auto count = static_cast<std::uint32_t>(job.aggregators.size());
  for (std::uint32_t at = 0; at < count; ++at) {
    job.aggregators[at].at = aggregator_state::stage::ready;
    state_.calls.call(group, {at, true}, call_of(job, at), out);
  }
  for (std::uint32_t at = 0; at < count; ++at)
    for (const auto& above : upstream_of(job.sums.aggregators[at].parent))
      admit_nodes(group, above, at, out);
}

void aggregator_recovery::admit_nodes(group_id group, callee above, std::uint32_t at,
                                      coordinator_effects& out) {
  const auto& job = state_.jobs[state_.calls.group(group).job];
  const auto& aggregator = job.aggregators[at];
  for (const auto& node : job.sums.aggregators[at].nodes)
    state_.calls.call(group, above,
                      admit_worker_call{.token = job.token,
                                        .rank = node.first,
                                        .incarnation = aggregator.incarnation,
                                        .address = aggregator.address,
                                        .tables = {},
                                        .finished = false},
                      out);
}

std::vector<callee> aggregator_recovery::upstream_of(std::uint32_t aggregator) const {
  if (aggregator != no_aggregator) return {{aggregator, true}};
  std::vector<callee> shards;
  for (std::uint32_t shard = 0; shard < state_.cluster.shards; ++shard)
    for (const auto& recipient : state_.replicas.members_of(shard)) shards.push_back(recipient);
  return shards;
}

std::vector<std::string> aggregator_recovery::addresses_of(const job_record& job,
                                                           std::uint32_t aggregator) const {
  if (aggregator != no_aggregator) return {job.aggregators[aggregator].address};
  std::vector<std::string> addresses;
  for (const auto& group : state_.replicas.groups())
    addresses.push_back(group.primary_address());
  return addresses;
}

std::vector<std::uint64_t> aggregator_recovery::epochs_of(const job_record& job,
                                                          std::uint32_t aggregator) const {
  if (aggregator != no_aggregator) return {epoch_of(job.aggregators[aggregator])};
  std::vector<std::uint64_t> epochs;
  for (const auto& group : state_.replicas.groups())
    epochs.push_back(frame_epoch(state_.epoch, group.serving_view()));
  return epochs;
}

std::uint64_t aggregator_recovery::epoch_of(const aggregator_state& aggregator) const {
  return frame_epoch(state_.epoch, aggregator.incarnation - 1);
}

open_job_call aggregator_recovery::call_of(const job_record& job,
                                           std::uint32_t aggregator) const {
  const auto& place = job.sums.aggregators[aggregator];
  const auto& served = job.aggregators[aggregator];
  auto opening = state_.job_call(job);
  opening.epoch = epoch_of(served);
  opening.members = place.members;
  opening.nodes = place.nodes;
  opening.upstream = addresses_of(job, place.parent);
  opening.upstream_epochs = epochs_of(job, place.parent);
  opening.incarnation = served.incarnation;
  opening.upstream_moves = state_.cluster.has_chains() || place.parent != no_aggregator;
  return opening;
}

}  // namespace tidegate::policies::coordination
