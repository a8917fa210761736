#include "policies/coordinator/admission.hpp"

#include <algorithm>
#include <utility>

#include "policies/consistency/consistency.hpp"
#include "policies/coordinator/state.hpp"
#include "policies/model/clock_vector.hpp"
#include "policies/model/spec.hpp"

namespace tidegate::policies::coordination {

using runtime::errc;

runtime::status admission::check_worker(const worker_hello& hello) const {
  const auto* job = state_.jobs.find(hello.job);
  if (!job) return {errc::not_found, "no job '" + hello.job + "' in this cluster"};
  const auto name = "rank " + std::to_string(hello.rank) + " of job " + hello.job;
  if (hello.rank >= job->workers.size())
    return {errc::invalid_argument,
            name + " joins a job of " + std::to_string(job->wanted) + " workers"};
  if (job->has_ended()) return {errc::refused, "job " + hello.job + " has ended"};
  const auto& known = job->workers[hello.rank];
  if (known.absent && !known.invited)
    return {
        errc::refused,
        name + (known.left
                    ? " has left: the others go on since clock " + std::to_string(*known.left)
                    : " joins a job of " + std::to_string(job->wanted) + " workers")};
  // One that has not heard that it is in asks again, perhaps another coordinator than before.
  const bool again = hello.incarnation == known.incarnation && hello.incarnation > 0 &&
                     known.address == hello.address;
  if (hello.incarnation <= known.incarnation && !again)
    return {errc::already_exists, name + " is there already"};
  if (hello.address.empty())
    return {errc::invalid_argument, name + " gives no address for frames"};
  return {};
}

bool admission::worker_joined(std::int64_t now, const worker_hello& hello, ticket requester,
                              coordinator_effects& out) {
  if (auto checked = check_worker(hello); !checked.ok()) {
    out.answers.push_back({requester, std::move(checked), {}});
    return false;
  }
  auto& job = *state_.jobs.find(hello.job);
  auto& worker = job.workers[hello.rank];
  if (worker.incarnation > 0 && hello.incarnation > worker.incarnation) {
    ++job.restarts;
    record(job, out);
    worker.staleness_max = std::max(worker.staleness_max, worker.last.staleness_max);
    worker.payload_bytes_copied += worker.last.payload_bytes_copied;
    worker.last.staleness_max = worker.last.payload_bytes_copied = 0;
  }
  worker.incarnation = hello.incarnation;
  worker.address = hello.address;
  worker.away = false;
  record(job, hello.rank, out);
  state_.events.add(
      now, "worker_joined",
      hello.job + " rank " + std::to_string(hello.rank) +
          (hello.incarnation > 1 ? " incarnation " + std::to_string(hello.incarnation) : ""),
      {.job = hello.job, .rank = hello.rank});
  // One that has died while it waited is not admitted any more.
  refuse_early(hello.job, hello.rank, "another process has taken its rank", out);
  early_.emplace_back(hello, requester);
  admit_early(out);
  return true;
}

// Where a worker goes on is asked of shards that have all that the job goes on with.
bool admission::may_admit(const worker_hello& hello) const {
  const auto& job = *state_.jobs.find(hello.job);
  const auto aggregator = job.sums.of_worker[hello.rank];
  return state_.lifecycle.all_in() && !state_.replicas.is_promoting() &&
         !state_.replicas.is_linking() &&
         (aggregator == no_aggregator ||
          job.aggregators[aggregator].at == aggregator_state::stage::ready) &&
         state_.tables.has_all_before(job);
}

void admission::admit_early(coordinator_effects& out) {
  for (auto& [hello, waiting] : std::exchange(early_, {}))
    if (may_admit(hello))
      admit(hello, waiting, out);
    else
      early_.emplace_back(hello, waiting);
}

void admission::admit(const worker_hello& hello, ticket requester, coordinator_effects& out) {
  auto& job = *state_.jobs.find(hello.job);
  if (job.workers[hello.rank].absent)
    return state_.changes.begin_joining(hello, requester, out);
  const auto index = state_.jobs.index_of(job);
  const auto group = state_.calls.make_group(index, requester);
  state_.calls.group(group).about = hello;
  call_for(group, hello, out);
}

void admission::call_for(group_id group, const worker_hello& hello, coordinator_effects& out) {
  const auto& job = state_.jobs[state_.calls.group(group).job];
  for (const auto& recipient : state_.aggregators.upstream_of(job.sums.of_worker[hello.rank]))
    state_.calls.call(group, recipient,
                      admit_worker_call{.token = job.token,
                                        .rank = hello.rank,
                                        .incarnation = hello.incarnation,
                                        .address = hello.address,
                                        .tables = state_.tables.tables_of(job, hello.rank),
                                        .finished = false},
                      out);
}

// Of those that waited for others.
void admission::admit_late(coordinator_effects& out) {
  for (auto& late : std::exchange(late_, {})) admit_or_wait(std::move(late), out);
}

// A shard that cannot let a worker in fails that process, which may be dying, and not the job:
// the launcher starts it again, up to its limit.
void admission::admitted(std::int64_t now, const call_group& done, const worker_hello& hello,
                         coordinator_effects& out) {
  // A primary, or an aggregator, that is gone may not be missed yet.
  const auto& died = done.died;
  auto& job = state_.jobs[done.job];
  const auto aggregator = job.sums.of_worker[hello.rank];
  const bool sum_missed =
      done.sum_died && job.aggregators[aggregator].incarnation == *done.sum_died;
  if (!may_admit(hello) || sum_missed ||
      (died && state_.replicas[died->shard].serving_view() == died->view)) {
    late_.push_back(done);
    return;
  }
  if (died || done.sum_died) return admit_again(done, out);
  auto& worker = job.workers[hello.rank];
  auto result = done.failure;
  if (result.ok() && worker.incarnation != hello.incarnation)
    result = {errc::cancelled, "another process has taken its rank"};
  // It takes the place of one that had finished, and the others have since.
  if (result.ok() && job.state == job_state::done)
    result = {errc::refused, "job " + hello.job + " has ended"};
  if (!result.ok()) {
    state_.events.add(
        now, "worker_refused",
        hello.job + " rank " + std::to_string(hello.rank) + ": " + result.message(),
        {.job = hello.job, .rank = hello.rank, .cause = result.message()});
    for (auto requester : done.waiting) out.answers.push_back({requester, result, {}});
    if (job.spec.on_worker_loss == worker_loss_rule::fail)
      state_.lifecycle.fail_job(now, job.spec.name,
                                "a worker cannot be let in: " + result.message(), out);
    return;
  }
  admit_to_job(now, done, hello, out);
}

void admission::admit_to_job(std::int64_t now, const call_group& done,
                             const worker_hello& hello, coordinator_effects& out) {
  auto& job = state_.jobs[done.job];
  auto& worker = job.workers[hello.rank];
  worker.joined = true;
  record(job, hello.rank, out);
  if (job.state == job_state::waiting) {
    job.state = job_state::running;
    job.began = now;
    record(job, out);
    state_.events.add(now, "job_running", job.spec.name, {.job = job.spec.name});
  }
  const auto first =
      done.first_clock == clock_vector::infinity ? worker.since : done.first_clock;
  if (hello.incarnation > 1)
    state_.events.add(now, "worker_resumes",
                      hello.job + " rank " + std::to_string(hello.rank) + " at clock " +
                          std::to_string(first),
                      {.job = hello.job, .rank = hello.rank, .clock = first});
  for (auto requester : done.waiting)
    out.answers.push_back({requester, {}, welcome(job, hello.rank, first)});
}

// What the dead one would have said of the worker's clock, its successor says.
void admission::admit_again(const call_group& before, coordinator_effects& out) {
  const auto group = state_.calls.make_group(before.job, 0);
  auto& calls = state_.calls.group(group);
  calls.waiting = before.waiting;
  calls.about = before.about;
  call_for(group, std::get<worker_hello>(before.about), out);
}

void admission::moves_of(const std::string& name, std::uint32_t rank, std::uint32_t incarnation,
                         coordinator_effects& out) {
  auto* at = state_.jobs.find(name);
  if (!at || rank >= at->workers.size()) return;
  if (auto& worker = at->workers[rank]; worker.incarnation == incarnation) worker.away = false;
  state_.replicas.tell_moves_above(
      *at, at->sums.of_worker[rank],
      {.job = name, .index = rank, .aggregates = false, .message = {}}, out);
}

worker_welcome admission::welcome(const job_record& job, std::uint32_t rank,
                                  std::uint64_t first_clock) const {
  const auto aggregator = job.sums.of_worker[rank];
  return {.token = job.token,
          .epoch = state_.epoch,
          .first_clock = first_clock,
          .workers = job.wanted,
          .capacity = job.spec.capacity(),
          .seed = job.spec.seed,
          .policy = to_string(job.spec.consistency),
          .not_finite = job.spec.not_finite,
          .reduce = job.spec.reduce,
          .shard_addresses = state_.aggregators.addresses_of(job, aggregator),
          .shard_epochs = state_.aggregators.epochs_of(job, aggregator),
          .aggregated = aggregator != no_aggregator,
          .one_clock_in_flight = aggregator != no_aggregator &&
                                 traits_of(job.spec.consistency.kind).has_exact_versions &&
                                 workers_come_back(job.spec.on_worker_loss),
          .replicated = state_.cluster.has_chains(),
          .tables = tables_of(job)};
}

// What any worker has opened, all have.
std::uint32_t admission::tables_of(const job_record& job) {
  std::size_t tables = job.tables_opened ? job.tables_opened->second.size() : 0;
  for (const auto& worker : job.workers)
    if (worker.tables) tables = std::max(tables, worker.tables->size());
  return static_cast<std::uint32_t>(tables);
}

void admission::wait_early(const worker_hello& hello, ticket requester) {
  early_.emplace_back(hello, requester);
}

void admission::admit_or_wait(call_group late, coordinator_effects& out) {
  if (may_admit(std::get<worker_hello>(late.about)))
    admit_again(late, out);
  else
    late_.push_back(std::move(late));
}

template <class Predicate>
void admission::refuse_early_if(const Predicate& is_it, const std::string& why,
                                coordinator_effects& out) {
  std::erase_if(early_, [&](const auto& early) {
    const bool refused = is_it(early.first);
    if (refused) refuse(early.second, errc::cancelled, why, out);
    return refused;
  });
}

void admission::refuse_early(const std::string& job, std::uint32_t rank, const std::string& why,
                             coordinator_effects& out) {
  refuse_early_if(
      [&](const worker_hello& hello) { return hello.job == job && hello.rank == rank; }, why,
      out);
}

void admission::refuse_absent(const job_record& job, const std::string& why,
                              coordinator_effects& out) {
  refuse_early_if(
      [&](const worker_hello& hello) {
        return hello.job == job.spec.name && job.workers[hello.rank].absent;
      },
      why, out);
}

void admission::cancel_late(std::size_t job, const std::string& why, coordinator_effects& out) {
  std::erase_if(late_, [&](const call_group& late) {
    if (late.job != job) return false;
    refuse_all(late, why, out);
    return true;
  });
}

void admission::cancel_early(const std::string& job, const std::string& why,
                             coordinator_effects& out) {
  refuse_early_if([&](const worker_hello& hello) { return hello.job == job; }, why, out);
}

}  // namespace tidegate::policies::coordination
