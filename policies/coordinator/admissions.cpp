// How coordinator_core lets workers in: when, and where they go on.
#include <algorithm>
#include <utility>

#include "policies/coordinator/core.hpp"

namespace tidegate::policies {

using runtime::errc;

// Where a worker goes on is asked of shards that have all that the job goes on with.
bool coordinator_core::may_admit(const worker_hello& hello) {
  const auto& job = *find(hello.job);
  const auto aggregator = job.sums.of_worker[hello.rank];
  return all_in() && moving_.empty() && linking_ == 0 &&
         (aggregator == no_aggregator ||
          job.aggregators[aggregator].at == aggregator_state::stage::ready) &&
         std::none_of(tables_.begin(), tables_.end(), [&](const auto& table) {
           return &jobs_[table.job] == &job && (table.restored || table.recorded) &&
                  !table.ready;
         });
}

void coordinator_core::admit_early(coordinator_effects& out) {
  for (auto& [hello, waiting] : std::exchange(early_workers_, {}))
    if (may_admit(hello))
      admit(hello, waiting, out);
    else
      early_workers_.emplace_back(hello, waiting);
}

void coordinator_core::admit(const worker_hello& hello, ticket requester,
                             coordinator_effects& out) {
  auto& job = *find(hello.job);
  if (job.workers[hello.rank].absent) return begin_joining(hello, requester, out);
  const auto index = static_cast<std::size_t>(&job - jobs_.data());
  const auto group = make_group(index, requester);
  groups_.at(group).about = hello;
  call_for(group, hello, out);
}

void coordinator_core::call_for(group_id group, const worker_hello& hello,
                                coordinator_effects& out) {
  const auto& job = jobs_[groups_.at(group).job];
  for (const auto& recipient : upstream_of(job.sums.of_worker[hello.rank]))
    call(group, recipient,
         admit_worker_call{job.token, hello.rank, hello.incarnation, hello.address,
                           tables_of(job, hello.rank), false},
         out);
}

// Of those that waited for others.
void coordinator_core::admit_late(coordinator_effects& out) {
  for (const auto& late : std::exchange(late_, {}))
    if (may_admit(std::get<worker_hello>(late.about)))
      admit_again(late, out);
    else
      late_.push_back(late);
}

// A shard that cannot let a worker in fails that process, which may be dying, and not the job:
// the launcher starts it again, up to its limit.
void coordinator_core::admitted(std::int64_t now, const call_group& done,
                                const worker_hello& hello, coordinator_effects& out) {
  // A primary, or an aggregator, that is gone may not be missed yet.
  const auto& died = done.died;
  auto& job = jobs_[done.job];
  const auto aggregator = job.sums.of_worker[hello.rank];
  const bool sum_missed =
      done.sum_died && job.aggregators[aggregator].incarnation == *done.sum_died;
  if (!may_admit(hello) || sum_missed ||
      (died && groups_of_[died->shard].serving_view() == died->view)) {
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
    event(now, "worker_refused",
          hello.job + " rank " + std::to_string(hello.rank) + ": " + result.message());
    for (auto requester : done.waiting) out.answers.push_back({requester, result, {}});
    if (job.spec.on_worker_loss == worker_loss_rule::fail)
      fail_job(now, job.spec.name, "a worker cannot be let in: " + result.message(), out);
    return;
  }
  worker.joined = true;
  record(job, hello.rank, out);
  if (job.state == job_state::waiting) {
    job.state = job_state::running;
    job.began = now;
    record(job, out);
    event(now, "job_running", job.spec.name);
  }
  const auto first =
      done.first_clock == clock_vector::infinity ? worker.since : done.first_clock;
  if (hello.incarnation > 1)
    event(now, "worker_resumes",
          hello.job + " rank " + std::to_string(hello.rank) + " at clock " +
              std::to_string(first));
  for (auto requester : done.waiting)
    out.answers.push_back({requester, {}, welcome(job, hello.rank, first)});
}

}  // namespace tidegate::policies
