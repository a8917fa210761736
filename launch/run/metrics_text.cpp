#include "launch/run/metrics_text.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "launch/run/metric_family.hpp"
#include "launch/run/metrics_of_shards.hpp"
#include "launch/text/progress_text.hpp"

namespace tidegate::launch {

namespace {

using policies::job_status;
using policies::worker_status;
using family = metric_family;
using samples = metric_samples;

samples per_job(double (*value)(const job_status&)) {
  return of_jobs([value](const run_view::job& job, metric_sink& to) {
    to.sample({{"job", job.status.name}}, value(job.status));
  });
}

// Those that are, or are to be, of the job: a rank that has left stands still.
std::vector<const worker_status*> members_of(const job_status& job) {
  const auto left = policies::ranks_left(job.changes);
  std::vector<const worker_status*> members;
  for (const auto& worker : job.members)
    if (std::find(left.begin(), left.end(), worker.rank) == left.end())
      members.push_back(&worker);
  return members;
}

// A coordinator that has come back does not know what workers have reported to the one before:
// a counter without a sample is better than one that goes down.
bool has_reported(const worker_status& worker) {
  return worker.times.elapsed_ns > 0 || worker.finished;
}

samples of_workers(double (*value)(const worker_status&),
                   bool (*has_value)(const worker_status&) = nullptr) {
  return of_jobs([=](const run_view::job& job, metric_sink& to) {
    for (const auto* worker : members_of(job.status))
      if (has_value == nullptr || has_value(*worker))
        to.sample({{"job", job.status.name}, {"rank", std::to_string(worker->rank)}},
                  value(*worker));
  });
}

// As in the result: what workers call "loss", or what they report with their samples.
void add_loss(const run_view::job& job, metric_sink& to) {
  const auto own = job.status.metrics.find("loss");
  if (own != job.status.metrics.end())
    to.sample({{"job", job.status.name}}, own->second);
  else if (job.status.samples > 0)
    to.sample({{"job", job.status.name}}, job.status.loss);
}

// Over all workers: less than before where one of them has not reported yet.
void add_payload_copied(const run_view::job& job, metric_sink& to) {
  const auto members = members_of(job.status);
  if (std::all_of(members.begin(), members.end(),
                  [](const worker_status* worker) { return has_reported(*worker); }))
    to.sample({{"job", job.status.name}}, number(job.status.payload_bytes_copied));
}

void add_staleness(const run_view::job& job, metric_sink& to) {
  for (std::size_t range = 0; range < policies::staleness_ranges.size(); ++range)
    to.sample({{"job", job.status.name},
               {"staleness", std::to_string(policies::staleness_ranges[range])}},
              number(job.status.staleness[range]));
}

void add_checkpoint_seconds(const run_view::job& job, metric_sink& to) {
  const auto& of = job.status.checkpointing;
  if (of.count == 0) return;
  for (const auto& [part, lasted] :
       {std::pair("round", of.round_ns), std::pair("shard", of.part_ns),
        std::pair("manifest", of.manifest_ns)})
    to.sample({{"job", job.status.name}, {"part", part}}, number(lasted) * seconds_of_ns);
}

void add_checkpoint_clock(const run_view::job& job, metric_sink& to) {
  if (job.status.checkpoints > 0)
    to.sample({{"job", job.status.name}}, number(job.status.checkpoint_clock));
}

samples of_run(double (*value)(const run_view&)) {
  return [value](const run_view& run, metric_sink& to) { to.sample({}, value(run)); };
}

void add_states(const run_view::job& job, metric_sink& to) {
  using state = policies::job_state;
  for (const auto known : {state::waiting, state::running, state::done, state::failed})
    to.sample({{"job", job.status.name}, {"state", std::string(to_string(known))}},
              job.status.state == known ? 1 : 0);
}

void add_worker_counts(const run_view::job& job, metric_sink& to) {
  const auto& status = job.status;
  for (const auto& [state, count] :
       {std::pair("wanted", status.workers), std::pair("joined", status.workers_joined),
        std::pair("finished", status.workers_finished)})
    to.sample({{"job", status.name}, {"state", state}}, count);
}

void add_times(const run_view::job& job, metric_sink& to) {
  for (const auto* worker : members_of(job.status)) {
    const auto& times = worker->times;
    if (times.elapsed_ns == 0) continue;  // as in has_reported(), of one that has finished, too
    const auto called = times.call_ns + times.wait_ns;
    const auto computed = times.elapsed_ns > called ? times.elapsed_ns - called : 0;
    for (const auto& [activity, spent] :
         {std::pair("computes", computed), std::pair("calls", times.call_ns),
          std::pair("waits", times.wait_ns)})
      to.sample({{"job", job.status.name},
                 {"rank", std::to_string(worker->rank)},
                 {"activity", activity}},
                number(spent) * seconds_of_ns);
  }
}

void add_pressures(const run_view::job& job, metric_sink& to) {
  for (const auto* worker : members_of(job.status))
    if (const auto& of = worker->times; of.elapsed_ns > 0)
      for (const auto& [kind, lasted] : {std::pair("stopped", of.pressure.stopped_ns),
                                         std::pair("starved", of.pressure.starved_ns),
                                         std::pair("memory", of.pressure.memory_ns)})
        to.sample(
            {{"job", job.status.name}, {"rank", std::to_string(worker->rank)}, {"kind", kind}},
            number(lasted) * seconds_of_ns);
}

void add_reported(const run_view::job& job, metric_sink& to) {
  for (const auto& [name, value] : job.status.metrics)
    to.sample({{"job", job.status.name}, {"name", name}}, value);
}

void add_processes(const run_view& run, metric_sink& to) {
  for (const auto& process : run.processes)
    to.sample({{"process", process.name.to_string()},
               {"role", std::string(policies::to_string(process.name.role))},
               {"host", run.hosts.at(process.host).name}},
              process.incarnation);
}

void add_hosts(const run_view& run, metric_sink& to) {
  for (const auto& host : run.hosts)
    if (!host.name.empty())
      to.sample({{"host", host.name}, {"state", std::string(host.state)}}, 1);
}

double longest_wait(const run_view& run) {
  return run.waits.empty() ? 0 : run.waits.front().seconds;
}

std::vector<family> families_of_run() {
  using enum metric_kind;
  return {{"tidegate_build", info, "version", "1, with the version of the launcher",
           [](const run_view& run, metric_sink& to) {
             if (!run.version.empty()) to.sample({{"version", run.version}}, 1);
           }},
          {"tidegate_run", info, "cluster, state", "1, with the state of the run",
           [](const run_view& run, metric_sink& to) {
             if (!run.version.empty())
               to.sample({{"cluster", run.cluster}, {"state", std::string(run.state)}}, 1);
           }},
          {"tidegate_epoch", gauge, "",
           "The epoch of the run, which grows when its jobs go back to a checkpoint",
           of_run([](const run_view& run) { return number(run.epoch); })},
          {"tidegate_process_incarnation", gauge, "process, role, host",
           "Living processes, with how many of that name there have been", add_processes},
          {"tidegate_host", info, "host, state", "1, with the state of a host of the cluster",
           add_hosts},
          {"tidegate_waits", gauge, "", "Waits of more than two seconds",
           of_run([](const run_view& run) { return number(run.waits.size()); })},
          {"tidegate_longest_wait_seconds", gauge, "", "The longest of these",
           of_run(longest_wait)}};
}

std::vector<family> families_of_jobs() {
  using enum metric_kind;
  return {
      {"tidegate_policy", info, "job, policy", "1, with the consistency policy of the job",
       of_jobs([](const run_view::job& job, metric_sink& to) {
         to.sample({{"job", job.status.name}, {"policy", job.status.policy}}, 1);
       })},
      {"tidegate_job_state", gauge, "job, state", "1 for the state that the job is in, else 0",
       of_jobs(add_states)},
      {"tidegate_job_seconds", gauge, "job",
       "For how long the job has run, from its first worker on",
       per_job([](const job_status& job) { return job.seconds; })},
      {"tidegate_job_clocks_planned", gauge, "job",
       "Clocks that each worker will run; 0 where workers have not said so",
       per_job([](const job_status& job) { return number(job.clocks_total); })},
      {"tidegate_workers", gauge, "job, state",
       "Workers of the job that are wanted, have joined and have finished",
       of_jobs(add_worker_counts)},
      {"tidegate_loss", gauge, "job",
       "The loss that workers have reported last, the mean over them", of_jobs(add_loss)},
      {"tidegate_reported", gauge, "job, name",
       "What workers have reported under names of theirs", of_jobs(add_reported)},
      {"tidegate_staleness_max_clocks", gauge, "job", "The largest staleness of a pull so far",
       per_job([](const job_status& job) { return number(job.staleness_max); })},
      {"tidegate_pulled_chunks", counter, "job, staleness",
       "Answers to pulls of workers that live, each for a chunk, by how many clocks the oldest "
       "worker's pushes in them were behind: a range's first",
       of_jobs(add_staleness)},
      {"tidegate_payload_copied_bytes", counter, "job",
       "Payload that was copied on its way, as workers report it", of_jobs(add_payload_copied)},
      {"tidegate_worker_restarts", counter, "job", "Workers that have come back after a death",
       per_job([](const job_status& job) { return number(job.restarts); })},
      {"tidegate_checkpoints", counter, "job",
       "Checkpoints written since the job began or went back",
       per_job([](const job_status& job) { return number(job.checkpoints); })},
      {"tidegate_checkpoint_clock", gauge, "job", "The clock of the newest checkpoint",
       of_jobs(add_checkpoint_clock)},
      {"tidegate_checkpoint_late_seconds", counter, "job",
       "For how long checkpoints were due while another was under way, or a job waited for its "
       "last",
       per_job([](const job_status& job) {
         return number(job.checkpointing.late_ns) * seconds_of_ns;
       })},
      {"tidegate_checkpoint_seconds", gauge, "job, part",
       "Of the newest checkpoint: its round, the part of a shard that took longest, and the "
       "manifest",
       of_jobs(add_checkpoint_seconds)}};
}

std::vector<family> families_of_workers() {
  using enum metric_kind;
  return {
      {"tidegate_clock", gauge, "job, rank", "Clocks that the worker has ended",
       of_workers([](const worker_status& worker) { return number(worker.clock); })},
      {"tidegate_samples", counter, "job, rank",
       "Samples that the worker says it has processed",
       of_workers([](const worker_status& worker) { return number(worker.samples); },
                  has_reported)},
      {"tidegate_worker_seconds", counter, "job, rank, activity",
       "Where the time of the worker's process went since its first push: computes, calls, "
       "waits",
       of_jobs(add_times)},
      {"tidegate_arrivals", counter, "job, rank",
       "Closed clocks in which the worker has pushed, counted by each shard, or by its "
       "aggregator",
       of_workers([](const worker_status& worker) { return number(worker.arrivals.clocks); })},
      {"tidegate_last_arrivals", counter, "job, rank",
       "Of these, those in which its push came last",
       of_workers([](const worker_status& worker) { return number(worker.arrivals.last); })},
      {"tidegate_late_seconds", counter, "job, rank",
       "By how much it came after the last but one then, in sum over these",
       of_workers([](const worker_status& worker) {
         return number(worker.arrivals.late_ns) * seconds_of_ns;
       })},
      {"tidegate_worker_pressure_seconds", counter, "job, rank, kind",
       "For how long the worker's process was stopped, its thread ready without a processor, "
       "and something on its host short of memory",
       of_jobs(add_pressures)},
      {"tidegate_disk_faults", counter, "job, rank",
       "Page faults of the worker's process that read a disk",
       of_workers(
           [](const worker_status& worker) {
             return number(worker.times.pressure.disk_faults);
           },
           has_reported)},
      {"tidegate_incarnation", gauge, "job, rank",
       "Which process of the worker this is, from 1",
       of_workers([](const worker_status& worker) { return number(worker.incarnation); })}};
}

const std::vector<family>& families() {
  static const auto all = [] {
    auto every = families_of_run();
    for (auto& more : {families_of_jobs(), families_of_workers(), metrics_of_shards()})
      every.insert(every.end(), more.begin(), more.end());
    return every;
  }();
  return all;
}

}  // namespace

void add_metrics(const run_view& run, metric_sink& to) {
  for (const auto& family : families()) {
    to.family(family.name, family.kind, family.help);
    family.add(run, to);
  }
}

std::string metrics_text(const run_view& run, exposition_format format) {
  exposition text(format);
  add_metrics(run, text);
  return text.finish();
}

std::string metrics_reference() {
  std::string text = "| metric | type | labels | is |\n|---|---|---|---|\n";
  for (const auto& family : families()) {
    text += "| `" + std::string(family.name) +
            (family.kind == metric_kind::counter ? "_total` | counter | "
             : family.kind == metric_kind::info  ? "_info` | info | "
                                                 : "` | gauge | ") +
            family.labels + " | " + family.help + " |\n";
  }
  return text;
}

}  // namespace tidegate::launch
