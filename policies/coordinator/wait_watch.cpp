#include "policies/coordinator/wait_watch.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "policies/coordinator/state.hpp"
#include "policies/model/clock_vector.hpp"

namespace tidegate::policies::coordination {

namespace {

using wait = wait_ledger::wait;

std::string seconds_text(std::int64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", static_cast<double>(ns) * 1e-9);
  return text;
}

constexpr const char* away_too_long =
    "it had not reached the coordinator for too long (supervision.unreachable)";

}  // namespace

wait_watch::wait_watch(coordinator_state& state)
    : state_(state), judge_(state.cluster.supervision.unreachable_ms * millisecond) {}

// The least that is lost with the primary of a shard that nobody takes the place of.
loss_cost wait_watch::cost_of_all() const {
  const bool goes_back =
      std::all_of(state_.cluster.jobs.begin(), state_.cluster.jobs.end(),
                  [](const auto& job) { return job.checkpoint.has_value(); });
  return goes_back ? loss_cost::going_back : loss_cost::ending_the_job;
}

loss_cost wait_watch::cost_of_member(std::uint32_t shard, std::uint32_t member) const {
  const auto& group = state_.replicas[shard];
  if (group.primary() != member) return loss_cost::replica;
  return group.replicas_in_sync() > 0 ? loss_cost::primary : cost_of_all();
}

wait_watch::living_member wait_watch::shard_member(std::uint32_t shard,
                                                   std::uint32_t member) const {
  const auto& group = state_.replicas[shard];
  const auto process = state_.mover.slots().process_of(shard, member);
  living_member found;
  found.name = policies::name_of(process, state_.cluster.shards);
  found.incarnation = group.incarnation(member);
  if (const auto incarnation = state_.mover.incarnation_of(process); incarnation > 0)
    found.incarnation = incarnation;
  found.cost = cost_of_member(shard, member);
  // All that the process has goes with it.
  for (std::uint32_t other = 0; other < state_.replicas.groups().size(); ++other)
    for (std::uint32_t at = 0; at < state_.replicas[other].size(); ++at)
      if (!state_.replicas[other].address(at).empty() &&
          state_.mover.slots().process_of(other, at) == process)
        found.cost = std::max(found.cost, cost_of_member(other, at));
  return found;
}

std::optional<wait_watch::living_member> wait_watch::member_at(
    const std::string& address) const {
  if (address.empty()) return {};
  for (std::uint32_t shard = 0; shard < state_.replicas.groups().size(); ++shard)
    for (std::uint32_t member = 0; member < state_.replicas[shard].size(); ++member)
      if (state_.replicas[shard].address(member) == address) return shard_member(shard, member);
  for (const auto& job : state_.jobs) {
    if (job.has_ended()) continue;
    for (std::uint32_t i = 0; i < job.aggregators.size(); ++i)
      if (const auto& known = job.aggregators[i];
          known.address == address && known.at != aggregator_state::stage::away)
        return living_member{
            .name = {.role = process_role::aggregator, .job = job.spec.name, .index = i},
            .incarnation = known.incarnation,
            .cost = loss_cost::aggregator};
    for (std::uint32_t rank = 0; rank < job.workers.size(); ++rank)
      if (const auto& known = job.workers[rank];
          known.address == address && !known.finished && !known.away)
        return living_member{
            .name = {.role = process_role::worker, .job = job.spec.name, .index = rank},
            .incarnation = known.incarnation,
            .cost =
                workers_come_back(job.spec.on_worker_loss) ? loss_cost::worker : cost_of_all()};
  }
  return {};
}

void wait_watch::unreachable(std::int64_t now, const std::string& reporter,
                             std::span<const unreachable_peer> peers) {
  judge_.report(reporter, peers, now);
  const auto find =
      [this](const std::string& address) -> std::optional<reachability_judge::member> {
    const auto found = member_at(address);
    if (!found) return {};
    return reachability_judge::member{.name = found->name.to_string(), .cost = found->cost};
  };
  while (const auto verdict = judge_.judge(now, find)) {
    const auto found = *member_at(verdict->condemned);
    condemn(now, found.name, found.incarnation,
            "it and " + verdict->peer + " had not reached each other for " +
                seconds_text(verdict->for_ns) + " (supervision.unreachable)");
  }
  look(now);
}

void wait_watch::condemn(std::int64_t now, const process_name& name, std::uint32_t incarnation,
                         const std::string& reason) {
  for (const auto& sentence : condemned_)
    if (sentence.name == name && sentence.incarnation == incarnation) return;
  condemned_.push_back({.name = name, .incarnation = incarnation, .reason = reason});
  state_.events.add(now, "process_condemned", name.to_string() + ": " + reason,
                    fields_of(name, reason));
}

void wait_watch::out_of_reach(std::int64_t now, const std::string& address) {
  if (const auto found = member_at(address))
    condemn(now, found->name, found->incarnation, away_too_long);
}

void wait_watch::out_of_reach(std::int64_t now, shard_map::process process,
                              std::uint32_t incarnation) {
  if (state_.mover.is_here(process, incarnation))
    condemn(now, policies::name_of(process, state_.mover.slots().shards()), incarnation,
            away_too_long);
}

void wait_watch::add_outages(std::int64_t now, std::vector<wait>& found) const {
  for (const auto& outage : judge_.outages(now)) {
    const auto reporter = member_at(outage.reporter);
    const auto peer = member_at(outage.peer);
    if (!reporter || !peer) continue;
    found.push_back({.waiter = reporter->name.to_string(),
                     .awaited = "a connection to " + peer->name.to_string(),
                     .for_ns = outage.for_ns + now - outage.reported_at});
  }
}

void wait_watch::add_calls(std::vector<wait>& found) const {
  for (auto& awaited : state_.calls.awaited())
    found.push_back({.waiter = "coordinator-0", .awaited = std::move(awaited)});
}

// Of processes that are to join, for the first time or again.
void wait_watch::add_absences(std::vector<wait>& found) const {
  for (std::uint32_t shard = 0; shard < state_.replicas.groups().size(); ++shard) {
    const auto& group = state_.replicas[shard];
    for (std::uint32_t member = 0; member < group.size(); ++member)
      if (group.is_wanted(member) && !group.is_here(member))
        found.push_back({.waiter = "coordinator-0",
                         .awaited = shard_member(shard, member).name.to_string() + " to join"});
  }
  for (const auto& job : state_.jobs) {
    if (job.state != job_state::waiting && job.state != job_state::running) continue;
    for (std::uint32_t i = 0; i < job.aggregators.size(); ++i)
      if (job.aggregators[i].at == aggregator_state::stage::away)
        found.push_back({.waiter = "job " + job.spec.name,
                         .awaited = process_name{.role = process_role::aggregator,
                                                 .job = job.spec.name,
                                                 .index = i}
                                        .to_string() +
                                    " to join"});
    for (std::uint32_t rank = 0; rank < job.workers.size(); ++rank)
      if (const auto& worker = job.workers[rank];
          !worker.absent && !worker.finished && (worker.away || worker.incarnation == 0))
        found.push_back(
            {.waiter = "job " + job.spec.name,
             .awaited =
                 process_name{.role = process_role::worker, .job = job.spec.name, .index = rank}
                     .to_string() +
                 " to join"});
  }
}

// A clock may well take longer than two seconds: no event tells of it.
void wait_watch::add_slowest(const job_record& job, std::vector<wait>& found) {
  constexpr std::size_t names_max = 3;
  auto slowest = clock_vector::infinity;
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t rank = 0; rank < job.workers.size(); ++rank) {
    const auto& worker = job.workers[rank];
    if (worker.absent || worker.finished) continue;
    if (worker.last.clock < slowest) ranks.clear();
    slowest = std::min(slowest, worker.last.clock);
    if (worker.last.clock == slowest) ranks.push_back(rank);
  }
  if (ranks.empty()) return;
  std::string names;
  for (std::size_t i = 0; i < std::min(ranks.size(), names_max); ++i)
    names += (i > 0 ? ", " : "") +
             process_name{.role = process_role::worker, .job = job.spec.name, .index = ranks[i]}
                 .to_string();
  if (ranks.size() > names_max)
    names += " and " + std::to_string(ranks.size() - names_max) + " more";
  found.push_back({.waiter = "job " + job.spec.name,
                   .awaited = "clock " + std::to_string(slowest + 1) + " of " + names,
                   .is_event = false});
}

void wait_watch::look(std::int64_t now) {
  std::vector<wait> found;
  add_outages(now, found);
  add_calls(found);
  add_absences(found);
  for (const auto& job : state_.jobs)
    if (job.state == job_state::running) add_slowest(job, found);
  for (const auto& wait : ledger_.look(now, found))
    if (wait.is_event)
      state_.events.add(
          now, "waits",
          wait.waiter + " has waited " + seconds_text(wait.for_ns) + " for " + wait.awaited);
}

}  // namespace tidegate::policies::coordination
