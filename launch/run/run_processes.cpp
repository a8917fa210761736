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
      states_(spec) {}

void run_processes::plan_later(const std::vector<process_name>& names) {
  for (auto next = plan_.processes.size(); next < names.size(); ++next) {
    const auto& name = names[next];
    const auto job = std::find_if(spec_.jobs.begin(), spec_.jobs.end(),
                                  [&](const auto& spec) { return spec.name == name.job; });
    plan_.processes.push_back(policies::serves_shard(name.role)
                                  ? plan_shard(spec_, name.role, name.index)
                                  : plan_worker(spec_, *job, name.index));
  }
}

runtime::expected<pid_t> run_processes::start(const policies::launch_effects::start& start,
                                              const run_identity& run, int ready, bool beats) {
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
  auto pid = table_.start(
      {start.process, start.incarnation}, process.name,
      programs_.request(process, run, log, {.ready = ready, .beats = page, .state = *state}));
  beats_.started(start.process);
  return pid;
}

void run_processes::reap(run_turn& into) {
  for (const auto& end : table_.reap()) {
    into.ends.push_back({end.process, to_exit(end)});
    beats_.ended(end.process);
  }
}

}  // namespace tidegate::launch
