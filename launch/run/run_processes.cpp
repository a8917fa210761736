#include "launch/run/run_processes.hpp"

#include <algorithm>
#include <utility>

namespace tidegate::launch {

run_processes::run_processes(const policies::cluster_spec& spec, const starter& programs,
                             run_journal& journal, cluster_plan plan)
    : spec_(spec),
      programs_(programs),
      journal_(journal),
      plan_(std::move(plan)),
      states_(spec),
      adopts_(std::any_of(spec.jobs.begin(), spec.jobs.end(),
                          [](const auto& job) { return job.spares > 0; })) {
  if (adopts_) runtime::adopt_orphans();
}

bool run_processes::has(pid_t pid) const {
  return table_.has(pid) || spares_.has(pid);
}

void run_processes::plan_later(const std::vector<process_name>& names) {
  for (auto next = plan_.processes.size(); next < names.size(); ++next) {
    const auto& name = names[next];
    plan_.processes.push_back(policies::serves_shard(name.role)
                                  ? plan_shard(spec_, name.role, name.index)
                                  : plan_worker(spec_, *spec_.find_job(name.job), name.index));
  }
}

runtime::expected<started_process> run_processes::start(
    const policies::launch_effects::start& start, const run_identity& run, int ready,
    bool beats) {
  auto process = plan_.processes[start.process];
  process.incarnation = start.incarnation;
  int page = -1;  // for its heartbeats
  if (beats) {
    const auto prepared = beats_.prepare(start.process, run.token);
    if (!prepared) return runtime::fail(prepared.error());
    page = *prepared;
  }
  const auto state = states_.prepare(start, process.name, run.token);
  if (!state) return runtime::fail(state.error());
  const auto log = journal_.folder().log_path(process.name);
  const start_descriptors descriptors{.ready = ready, .beats = page, .state = *state};
  auto pid = give_place(start, process, run, log, descriptors);
  const bool was_spare = pid.has_value();
  if (!pid && start.spare != policies::no_spare) {
    journal_.event("spare_passed_over",
                   "spare " + std::to_string(start.spare) + ": " + pid.error().message());
    spares_.end(start.spare);
  }
  if (!pid)
    pid = table_.start({start.process, start.incarnation}, process.name,
                       programs_.request(process, run, log, descriptors));
  beats_.started(start.process);
  if (!pid) return runtime::fail(pid.error());
  return started_process{*pid, was_spare};
}

runtime::expected<pid_t> run_processes::give_place(const policies::launch_effects::start& start,
                                                   const process_plan& process,
                                                   const run_identity& run,
                                                   const std::string& log,
                                                   const start_descriptors& descriptors) {
  const auto* environment = spares_.environment(start.spare);
  if (environment == nullptr)
    return runtime::fail(runtime::errc::unavailable, "no spare waits for this place");
  auto place = programs_.place(process, run, descriptors, *environment);
  const auto output = open_log(log);
  if (!output) return runtime::fail(output.error());
  place.output = output->get();
  auto given = spares_.give(start.spare, place);
  if (!given) return runtime::fail(given.error());
  const auto pid = given->pid;
  table_.adopt({start.process, start.incarnation}, process.name, std::move(*given));
  return pid;
}

runtime::status run_processes::start_spare(const policies::launch_effects::start_spare& start,
                                           const run_identity& run) {
  if (start.copy_of != policies::no_spare) return spares_.copy(start.copy_of, start.spare);
  auto channel = runtime::spare_channel::make();
  if (!channel) return channel.error();
  const auto log = journal_.folder().path() + "/logs/spare-" + start.job + "-" +
                   std::to_string(start.spare) + ".log";
  return spares_.start(
      start.spare, start.job,
      programs_.spare_request(plan_worker(spec_, *spec_.find_job(start.job), start.rank), run,
                              log, channel->second.get()),
      std::move(channel->first));
}

void run_processes::reap(run_turn& into) {
  for (const auto& end : table_.reap()) {
    into.ends.push_back({end.process, to_exit(end)});
    beats_.ended(end.process);
  }
  spares_.read(into);
}

}  // namespace tidegate::launch
