// What members tell the coordinator of how they go on, and it the launcher, as messages.
#pragma once

#include <caf/meta/type_name.hpp>

#include "policies/model/cluster_status.hpp"
#include "policies/protocol/control_calls.hpp"
#include "policies/supervision/reachability_judge.hpp"

namespace tidegate::policies {

template <class Inspector>
auto inspect(Inspector& f, worker_progress& x) {
  return f(caf::meta::type_name("tidegate::worker_progress"), x.clock, x.clocks_total, x.epoch,
           x.loss, x.samples, x.staleness_max, x.staleness, x.payload_bytes_copied, x.times,
           x.answers);
}
template <class Inspector>
auto inspect(Inspector& f, worker_times& x) {
  return f(caf::meta::type_name("tidegate::worker_times"), x.elapsed_ns, x.call_ns, x.wait_ns,
           x.credit_ns, x.garbage_ns, x.pressure);
}
template <class Inspector>
auto inspect(Inspector& f, process_pressure& x) {
  return f(caf::meta::type_name("tidegate::process_pressure"), x.stopped_ns, x.starved_ns,
           x.disk_faults, x.memory_ns);
}
template <class Inspector>
auto inspect(Inspector& f, shard_times& x) {
  return f(caf::meta::type_name("tidegate::shard_times"), x.process, x.elapsed_ns, x.busy_ns,
           x.replica_ns, x.bytes_in, x.bytes_out, x.resident_bytes, x.pushes_held, x.pressure);
}
template <class Inspector>
auto inspect(Inspector& f, shard_report& x) {
  return f(caf::meta::type_name("tidegate::shard_report"), x.closed, x.times);
}
template <class Inspector>
auto inspect(Inspector& f, rank_arrivals& x) {
  return f(caf::meta::type_name("tidegate::rank_arrivals"), x.clocks, x.last, x.late_ns);
}
template <class Inspector>
auto inspect(Inspector& f, latest_arrival& x) {
  return f(caf::meta::type_name("tidegate::latest_arrival"), x.clock, x.rank, x.late_ns);
}
template <class Inspector>
auto inspect(Inspector& f, job_arrivals& x) {
  return f(caf::meta::type_name("tidegate::job_arrivals"), x.token, x.clocks, x.ranks, x.latest,
           x.closed_below, x.span_log2, x.late);
}
template <class Inspector>
auto inspect(Inspector& f, worker_status& x) {
  return f(caf::meta::type_name("tidegate::worker_status"), x.rank, x.incarnation, x.joined,
           x.finished, x.clock, x.samples, x.times, x.arrivals, x.least_late_ns);
}
template <class Inspector>
auto inspect(Inspector& f, checkpoint_times& x) {
  return f(caf::meta::type_name("tidegate::checkpoint_times"), x.count, x.late_ns, x.clock,
           x.round_ns, x.shard, x.part_ns, x.part_bytes, x.others_ns, x.others_bytes,
           x.manifest_ns);
}
template <class Inspector>
auto inspect(Inspector& f, job_status& x) {
  return f(caf::meta::type_name("tidegate::job_status"), x.name, x.policy, x.state, x.failure,
           x.workers, x.workers_joined, x.workers_finished, x.clock_slowest, x.clock_fastest,
           x.clocks_total, x.epoch, x.loss, x.samples, x.staleness_max, x.staleness,
           x.payload_bytes_copied, x.restarts, x.ranks_finished, x.incarnations, x.changes,
           x.checkpoints, x.checkpoint_clock, x.checkpointing, x.last_checkpoint, x.seconds,
           x.metrics, x.parameters_sha256, x.members, x.latest, x.answers, x.waited_ns);
}
template <class Inspector>
auto inspect(Inspector& f, event_fields& x) {
  return f(caf::meta::type_name("tidegate::event_fields"), x.process, x.job, x.rank, x.clock,
           x.cause);
}
template <class Inspector>
auto inspect(Inspector& f, cluster_event& x) {
  return f(caf::meta::type_name("tidegate::cluster_event"), x.unix_ns, x.subject, x.detail,
           x.about);
}
template <class Inspector>
auto inspect(Inspector& f, wait_status& x) {
  return f(caf::meta::type_name("tidegate::wait_status"), x.waiter, x.awaited, x.seconds);
}
template <class Inspector>
auto inspect(Inspector& f, process_name& x) {
  return f(caf::meta::type_name("tidegate::process_name"), x.role, x.job, x.index);
}
template <class Inspector>
auto inspect(Inspector& f, replica_status& x) {
  return f(caf::meta::type_name("tidegate::replica_status"), x.shard, x.name, x.times);
}
template <class Inspector>
auto inspect(Inspector& f, condemned_process& x) {
  return f(caf::meta::type_name("tidegate::condemned_process"), x.name, x.incarnation,
           x.reason);
}
template <class Inspector>
auto inspect(Inspector& f, unreachable_peer& x) {
  return f(caf::meta::type_name("tidegate::unreachable_peer"), x.address, x.for_ns);
}
template <class Inspector>
auto inspect(Inspector& f, cluster_status& x) {
  return f(caf::meta::type_name("tidegate::cluster_status"), x.epoch, x.incarnation,
           x.shards_joined, x.replicas_in_sync, x.lost, x.jobs, x.shards, x.replicas, x.waits,
           x.condemned, x.events);
}

}  // namespace tidegate::policies
