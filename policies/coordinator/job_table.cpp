#include "policies/coordinator/job_table.hpp"

#include <algorithm>
#include <utility>

#include "policies/coordinator/state.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/base/rng.hpp"

namespace tidegate::policies::coordination {

using runtime::is_planted;
using runtime::planted_bug;

job_table::job_table(const cluster_spec& cluster, std::uint64_t token, restored_cluster from) {
  for (const auto& spec : cluster.jobs) {
    auto& job = jobs_.emplace_back();
    job.spec = spec;
    job.token = runtime::stream_key(token, spec.name);
    job.workers.resize(spec.capacity());
    job.wanted = spec.workers;
    for (auto rank = spec.workers; rank < spec.capacity(); ++rank)
      job.workers[rank].absent = job.workers[rank].finished = true;
    job.sums = plan_aggregation(cluster, spec);
    job.sums.of_worker.resize(spec.capacity(), no_aggregator);
    job.aggregators.resize(job.sums.aggregators.size());
    if (spec.checkpoint) job.rounds.emplace(*spec.checkpoint);
    if (const auto at = from.jobs.find(spec.name); at != from.jobs.end())
      job.restored = std::move(at->second);
  }
}

void job_table::go_on(const recorded_cluster& before) {
  for (const auto& recorded_job : before.jobs) {
    auto& job = *find(recorded_job.name);
    job.state = recorded_job.state;
    job.failure = recorded_job.failure;
    job.began = recorded_job.began;
    job.ended = recorded_job.ended;
    job.parameters_sha256 = recorded_job.parameters_sha256;
    job.restarts = recorded_job.restarts;
    job.checkpoints = recorded_job.checkpoints;
    job.checkpoint_clock = recorded_job.checkpoint_clock;
    job.begun = recorded_job.begun;
    job.wanted = recorded_job.wanted;
    for (const auto& change : recorded_job.changes) note_change(job, change);
  }
  for (const auto& metric : before.metrics)
    find(metric.job)->metrics[metric.name] = metric.value;
  for (const auto& recorded_worker : before.workers) {
    auto& job = *find(recorded_worker.job);
    auto& worker = job.workers[recorded_worker.rank];
    worker.joined = recorded_worker.joined;
    worker.finished =
        worker.absent || (recorded_worker.finished &&
                          !is_planted(planted_bug::finished_worker_forgotten_at_restart));
    worker.incarnation = recorded_worker.incarnation;
    worker.address = recorded_worker.address;
    worker.invited = recorded_worker.invited;
    if (!is_planted(planted_bug::opened_tables_forgotten_at_restart))
      worker.tables = recorded_worker.tables;
    worker.staleness_max = recorded_worker.staleness_max;
    worker.payload_bytes_copied = recorded_worker.payload_bytes_copied;
    worker.last = recorded_worker.last;
    // Those of others are the same, or the job has failed.
    if (recorded_worker.tables && !job.tables_opened)
      job.tables_opened = {recorded_worker.rank, *recorded_worker.tables};
  }
  for (auto& job : jobs_)
    job.at_end = std::all_of(job.workers.begin(), job.workers.end(),
                             [](const worker_state& worker) { return worker.finished; });
}

job_record* job_table::find(const std::string& name) {
  return const_cast<job_record*>(std::as_const(*this).find(name));
}

const job_record* job_table::find(const std::string& name) const {
  const auto at = std::find_if(jobs_.begin(), jobs_.end(),
                               [&](const job_record& job) { return job.spec.name == name; });
  return at == jobs_.end() ? nullptr : &*at;
}

void record(const job_record& job, coordinator_effects& out) {
  out.records.emplace_back(recorded_job{.name = job.spec.name,
                                        .state = job.state,
                                        .failure = job.failure,
                                        .began = job.began,
                                        .ended = job.ended,
                                        .parameters_sha256 = job.parameters_sha256,
                                        .restarts = job.restarts,
                                        .checkpoints = job.checkpoints,
                                        .checkpoint_clock = job.checkpoint_clock,
                                        .begun = job.begun,
                                        .wanted = job.wanted,
                                        .changes = job.changes});
}

void record(const job_record& job, std::uint32_t rank, coordinator_effects& out) {
  const auto& worker = job.workers[rank];
  out.records.emplace_back(recorded_worker{.job = job.spec.name,
                                           .rank = rank,
                                           .joined = worker.joined,
                                           .finished = worker.finished,
                                           .incarnation = worker.incarnation,
                                           .address = worker.address,
                                           .invited = worker.invited,
                                           .tables = worker.tables,
                                           .staleness_max = worker.staleness_max,
                                           .payload_bytes_copied = worker.payload_bytes_copied,
                                           .last = worker.last});
}

// The journal has the changes, and not what follows from them.
void note_change(job_record& job, const membership_change& change) {
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

}  // namespace tidegate::policies::coordination
