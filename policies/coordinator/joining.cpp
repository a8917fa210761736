// How workers join a job that runs: the number of those wanted, and for each that comes a first
// clock, which no chunk has come to. Shards hold that clock until all know; where one is beyond
// it, a later one is tried. So nobody waits but for what a new worker has to push.
#include <algorithm>
#include <bit>
#include <utility>

#include "policies/coordinator/core.hpp"

namespace tidegate::policies {

using runtime::errc;
using runtime::status;

namespace {

// Clocks ahead of the furthest chunk: first, and at most. Each try has more.
constexpr std::uint64_t ahead_first = 2;
constexpr std::uint32_t tries_max = 5;

}  // namespace

status coordinator_core::scale(std::int64_t now, const std::string& name, std::uint32_t workers,
                               coordinator_effects& out) {
  auto* job = find(name);
  if (!job) return {errc::not_found, "no job '" + name + "' in this cluster"};
  if (job->state == job_state::done || job->state == job_state::failed || job->at_end)
    return {errc::cancelled, "job " + name + " has ended"};
  const auto room = static_cast<std::uint32_t>(job->workers.size());
  if (workers == 0 || workers > room)
    return {errc::over_limit, "job " + name + " has 1 to " + std::to_string(room) +
                                  " workers (jobs." + name + ".max_workers)"};
  // A sum of ranks is a node of the tree over all (plan_aggregation), whatever ranks there are.
  const bool even = job->aggregators.empty() || std::has_single_bit(job->spec.workers);
  if (workers > job->spec.workers && !even)
    return {errc::refused, "job " + name + " has aggregators, and began with " +
                               std::to_string(job->spec.workers) +
                               " workers, which is no power of two"};
  for (std::uint32_t rank = 0; rank < workers; ++rank)
    if (job->workers[rank].absent && job->sums.of_worker[rank] != no_aggregator)
      return {errc::refused, "rank " + std::to_string(rank) + " of job " + name +
                                 " was behind an aggregator, and cannot come back"};
  const bool changes = std::exchange(job->wanted, workers) != workers;
  for (std::uint32_t rank = 0; rank < room; ++rank) {
    auto& worker = job->workers[rank];
    const bool invited = worker.absent && rank < workers;
    if (std::exchange(worker.invited, invited) != invited) record(*job, rank, out);
  }
  record(*job, out);
  if (changes) event(now, "scaled", name + ": " + std::to_string(workers) + " workers");
  return {};
}

void coordinator_core::begin_joining(const worker_hello& hello, ticket requester,
                                     coordinator_effects& out) {
  auto& job = *find(hello.job);
  if (job.at_end)
    return refuse(requester, errc::cancelled,
                  "all workers of job " + hello.job + " have finished", out);
  if (job.joining) {
    early_workers_.emplace_back(hello, requester);
    return;
  }
  // Whom the others have gone on without from a later clock on begins there at the soonest.
  std::uint64_t furthest = job.workers[hello.rank].left.value_or(0);
  for (const auto& worker : job.workers)
    if (!worker.absent) furthest = std::max(furthest, worker.last.clock);
  ask_to_hold(static_cast<std::size_t>(&job - jobs_.data()), {hello, furthest + ahead_first, 0},
              {requester}, out);
}

void coordinator_core::ask_to_hold(std::size_t index, joining join, std::vector<ticket> waiting,
                                   coordinator_effects& out) {
  auto& job = jobs_[index];
  job.joining = true;
  const auto group = make_group(index, 0);
  groups_.at(group).waiting = std::move(waiting);
  const hold_call asked{job.token, join.clock, join.hello.rank};
  groups_.at(group).about = std::move(join);
  for (const auto& recipient : upstream_of(no_aggregator)) call(group, recipient, asked, out);
}

void coordinator_core::change_roster(std::int64_t now, job_record& job, std::uint32_t rank,
                                     std::uint64_t clock, bool joins,
                                     coordinator_effects& out) {
  note_change(job, {static_cast<std::uint32_t>(job.changes.size() + 1), rank, clock, joins,
                    job.sums.of_worker[rank] == no_aggregator});
  record(job, out);
  record(job, rank, out);
  const auto team = std::count_if(job.workers.begin(), job.workers.end(),
                                  [](const worker_state& worker) { return !worker.absent; });
  event(now, joins ? "worker_added" : "worker_left",
        job.spec.name + " rank " + std::to_string(rank) + ": " + std::to_string(team) +
            " workers go on from clock " + std::to_string(clock));
}

// The journal has the changes, and not what follows from them.
void coordinator_core::note_change(job_record& job, const roster_change& change) {
  auto& worker = job.workers[change.rank];
  worker.absent = worker.finished = !change.joins;
  if (change.joins) {
    worker.since = change.clock;
    worker.left.reset();
  } else {
    worker.left = change.clock;
  }
  job.changes.push_back(change);
}

// Nobody waits for the answers; whoever is called next hears it first.
void coordinator_core::let_go_of(const job_record& job, coordinator_effects& out) {
  for (const auto& recipient : upstream_of(no_aggregator))
    out.calls.push_back({recipient.index, ++last_id_,
                         hold_call{job.token, clock_vector::infinity, 0}, "",
                         recipient.member});
}

void coordinator_core::held(std::int64_t now, const call_group& done,
                            coordinator_effects& out) {
  auto& job = jobs_[done.job];
  auto join = std::get<joining>(done.about);
  const auto rank = join.hello.rank;
  auto& worker = job.workers[rank];
  const bool stands =
      worker.incarnation == join.hello.incarnation && worker.invited && !job.at_end;
  const bool settled = may_admit(join.hello) && !done.died && done.failure.ok();
  if (stands && settled && done.last_clock > 0) {
    join.clock = std::max(join.clock, done.last_clock) + (ahead_first << join.tries);
    join.tries = std::min(join.tries + 1, tries_max);
    return ask_to_hold(done.job, std::move(join), done.waiting, out);
  }
  job.joining = false;
  if (!stands || !settled) {
    let_go_of(job, out);
    for (const auto requester : done.waiting)
      if (!stands)
        refuse(requester, errc::cancelled,
               "another process has taken its rank, or none is wanted any more", out);
      else if (!done.failure.ok())
        out.answers.push_back({requester, done.failure, {}});
      else
        early_workers_.emplace_back(join.hello, requester);
    // Whoever has died is missed first, and its successor tells.
    const auto& died = done.died;
    if (!died || groups_of_[died->shard].serving_view() != died->view) admit_early(out);
    return;
  }
  worker.invited = false;
  worker.tables.reset();
  worker.last = {};
  worker.last.clock = join.clock;
  change_roster(now, job, rank, join.clock, true, out);
  const auto group = make_group(done.job, 0);
  groups_.at(group).about = joining_told{join.hello};
  groups_.at(group).waiting = done.waiting;
  for (const auto& recipient : upstream_of(no_aggregator))
    call(group, recipient, roster_call{job.token, job.changes.back()}, out);
  admit_early(out);
}

// Who has died hears of it when it is set up. From here on it is let in like any.
void coordinator_core::joined(const call_group& done, coordinator_effects& out) {
  call_group again;
  again.job = done.job;
  again.waiting = done.waiting;
  again.about = std::get<joining_told>(done.about).hello;
  if (may_admit(std::get<worker_hello>(again.about)))
    admit_again(again, out);
  else
    late_.push_back(std::move(again));
}

}  // namespace tidegate::policies
