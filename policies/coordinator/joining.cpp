#include <algorithm>
#include <bit>
#include <utility>

#include "policies/consistency/consistency.hpp"
#include "policies/coordinator/member_changes.hpp"
#include "policies/coordinator/state.hpp"
#include "policies/model/clock_vector.hpp"

namespace tidegate::policies::coordination {

using runtime::errc;

namespace {

// Clocks ahead of the furthest chunk: first, and at most. Each try has more.
constexpr std::uint64_t ahead_first = 2;
constexpr std::uint32_t tries_max = 5;

}  // namespace

runtime::status member_changes::scale(std::int64_t now, const std::string& name,
                                      std::uint32_t workers, coordinator_effects& out) {
  auto* job = state_.jobs.find(name);
  if (!job) return {errc::not_found, "no job '" + name + "' in this cluster"};
  if (job->has_ended() || job->at_end) return {errc::cancelled, "job " + name + " has ended"};
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
  if (changes)
    state_.events.add(now, "scaled", name + ": " + std::to_string(workers) + " workers",
                      {.job = name});
  return {};
}

void member_changes::begin_joining(const worker_hello& hello, ticket requester,
                                   coordinator_effects& out) {
  auto& job = *state_.jobs.find(hello.job);
  if (job.at_end)
    return refuse(requester, errc::cancelled,
                  "all workers of job " + hello.job + " have finished", out);
  if (job.joining) {
    state_.admissions.wait_early(hello, requester);
    return;
  }
  // Whom the others have gone on without from a later clock on begins there at the soonest.
  std::uint64_t furthest = job.workers[hello.rank].left.value_or(0);
  for (const auto& worker : job.workers)
    if (!worker.absent) furthest = std::max(furthest, worker.last.clock);
  ask_to_hold(state_.jobs.index_of(job),
              {.hello = hello, .clock = furthest + ahead_first, .tries = 0}, {requester}, out);
}

void member_changes::ask_to_hold(std::size_t index, joining join, std::vector<ticket> waiting,
                                 coordinator_effects& out) {
  auto& job = state_.jobs[index];
  job.joining = true;
  const auto group = state_.calls.make_group(index, 0);
  state_.calls.group(group).waiting = std::move(waiting);
  const join_barrier_call asked{
      .token = job.token, .clock = join.clock, .rank = join.hello.rank};
  state_.calls.group(group).about = std::move(join);
  for (const auto& recipient : state_.aggregators.upstream_of(no_aggregator))
    state_.calls.call(group, recipient, asked, out);
}

void member_changes::held(std::int64_t now, const call_group& done, coordinator_effects& out) {
  auto& job = state_.jobs[done.job];
  auto join = std::get<joining>(done.about);
  const auto rank = join.hello.rank;
  auto& worker = job.workers[rank];
  const bool stands =
      worker.incarnation == join.hello.incarnation && worker.invited && !job.at_end;
  const bool settled =
      state_.admissions.may_admit(join.hello) && !done.died && done.failure.ok();
  if (stands && settled && done.last_clock > 0) {
    join.clock = std::max(join.clock, done.last_clock) + (ahead_first << join.tries);
    join.tries = std::min(join.tries + 1, tries_max);
    return ask_to_hold(done.job, std::move(join), done.waiting, out);
  }
  if (!stands || !settled) return give_up_joining(done, join, stands, out);
  job.joining = false;
  worker.invited = false;
  worker.tables.reset();
  worker.last = {};
  worker.last.clock = join.clock;
  change_membership(now, job, rank, join.clock, true, out);
  const auto group = state_.calls.make_group(done.job, 0);
  state_.calls.group(group).about = joining_told{join.hello};
  state_.calls.group(group).waiting = done.waiting;
  for (const auto& recipient : state_.aggregators.upstream_of(no_aggregator))
    state_.calls.call(group, recipient, membership_call{job.token, job.changes.back()}, out);
  state_.admissions.admit_early(out);
}

// Nobody else joins before all have let go: the call may come to one twice, and would let go of
// the next clock.
void member_changes::give_up_joining(const call_group& done, const joining& join, bool stands,
                                     coordinator_effects& out) {
  const auto group = state_.calls.make_group(done.job, 0);
  state_.calls.group(group).about = joining_ended{done.died};
  const join_barrier_call release{
      .token = state_.jobs[done.job].token, .clock = clock_vector::infinity, .rank = 0};
  for (const auto& recipient : state_.aggregators.upstream_of(no_aggregator))
    state_.calls.call(group, recipient, release, out);
  if (state_.calls.group(group).remaining == 0) state_.jobs[done.job].joining = false;
  for (const auto requester : done.waiting)
    if (!stands)
      refuse(requester, errc::cancelled,
             "another process has taken its rank, or none is wanted any more", out);
    else if (!done.failure.ok())
      out.answers.push_back({requester, done.failure, {}});
    else
      state_.admissions.wait_early(join.hello, requester);
}

// Whoever has died is missed first, and its successor tells.
void member_changes::let_go(const call_group& done, coordinator_effects& out) {
  state_.jobs[done.job].joining = false;
  const auto& died = std::get<joining_ended>(done.about).died;
  if (!died || state_.replicas[died->shard].serving_view() != died->view)
    state_.admissions.admit_early(out);
}

// Who has died hears of it when it is set up. From here on it is let in like any.
void member_changes::joined(const call_group& done, coordinator_effects& out) {
  call_group again;
  again.job = done.job;
  again.waiting = done.waiting;
  again.about = std::get<joining_told>(done.about).hello;
  state_.admissions.admit_or_wait(std::move(again), out);
}

void member_changes::change_membership(std::int64_t now, job_record& job, std::uint32_t rank,
                                       std::uint64_t clock, bool joins,
                                       coordinator_effects& out) {
  note_change(job, {.number = static_cast<std::uint32_t>(job.changes.size() + 1),
                    .rank = rank,
                    .clock = clock,
                    .joins = joins,
                    .pushes_here = job.sums.of_worker[rank] == no_aggregator});
  record(job, out);
  record(job, rank, out);
  const auto contributors =
      std::count_if(job.workers.begin(), job.workers.end(),
                    [](const worker_state& worker) { return !worker.absent; });
  state_.events.add(now, joins ? "worker_added" : "worker_left",
                    job.spec.name + " rank " + std::to_string(rank) + ": " +
                        std::to_string(contributors) + " workers go on from clock " +
                        std::to_string(clock),
                    {.job = job.spec.name, .rank = rank, .clock = clock});
}

}  // namespace tidegate::policies::coordination
