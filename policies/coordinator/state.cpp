#include "policies/coordinator/state.hpp"

#include <algorithm>
#include <utility>

#include "policies/coordinator/state.hpp"
#include "policies/protocol/frame_epoch.hpp"

namespace tidegate::policies::coordination {

coordinator_state::coordinator_state(cluster_spec spec, std::uint64_t token,
                                     const restored_cluster& from,
                                     const recorded_cluster& before,
                                     std::uint32_t own_incarnation)
    : cluster(std::move(spec)),
      epoch(from.epoch),
      incarnation(own_incarnation),
      goes_on(before.run.has_value()),
      jobs(cluster, token, goes_on ? before.run->from : from),
      calls(*this),
      tables(*this),
      replicas(*this),
      shards(replicas.groups().size()),
      mover(*this),
      aggregators(*this),
      admissions(*this),
      changes(*this),
      checkpoints(*this),
      waits(*this),
      lifecycle(*this) {
  if (!goes_on) return;
  jobs.go_on(before);
  tables.go_on(before);
  replicas.go_on(before);
  if (cluster.slots > 0) mover.go_on(before.slots);
}

void coordinator_state::close(std::int64_t now, call_group& done, coordinator_effects& out) {
  if (const auto* hello = std::get_if<worker_hello>(&done.about))
    return admissions.admitted(now, done, *hello, out);
  if (const auto* set_up = std::get_if<aggregator_set_up>(&done.about))
    return aggregators.told(now, done, *set_up, out);
  if (const auto* leave = std::get_if<leaving>(&done.about))
    return changes.shut_out(now, done, leave->rank, out);
  if (std::holds_alternative<leaving_told>(done.about))
    return changes.left_told(now, done, out);
  if (std::holds_alternative<joining>(done.about)) return changes.held(now, done, out);
  if (std::holds_alternative<joining_told>(done.about)) return changes.joined(done, out);
  if (std::holds_alternative<joining_ended>(done.about)) return changes.let_go(done, out);
  if (const auto* entry = std::get_if<promotion>(&done.about))
    return replicas.promoted(now, *entry, done.failure, out);
  if (std::holds_alternative<new_replica>(done.about)) return replicas.linked(now, done, out);
  if (!done.failure.ok()) {
    for (const auto requester : done.waiting)
      out.answers.push_back({requester, done.failure, {}});
    return lifecycle.fail_job(now, jobs[done.job].spec.name,
                              "a shard refused: " + done.failure.message(), out);
  }
  if (std::holds_alternative<std::uint32_t>(done.about)) tables.opened(now, done, out);
}

void coordinator_state::let_go_on(coordinator_effects& out) {
  changes.let_leave(out);
  admissions.admit_late(out);
  admissions.admit_early(out);
}

open_job_call coordinator_state::job_call(const job_record& job) const {
  return {.token = job.token,
          .epoch = frame_epoch(epoch, 0),
          .workers = job.spec.capacity(),
          .contributors = job.spec.workers,
          .name = job.spec.name,
          .consistency = job.spec.consistency,
          .reduce = job.spec.reduce,
          .workers_come_back = workers_come_back(job.spec.on_worker_loss),
          .members = job.sums.top,
          .nodes = {},
          .upstream = {},
          .upstream_epochs = {},
          .incarnation = 0,
          .upstream_moves = false,
          .replicated = cluster.has_chains(),
          .clip_norm = job.spec.clip_norm};
}

}  // namespace tidegate::policies::coordination
