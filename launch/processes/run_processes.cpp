#include "launch/processes/run_processes.hpp"

#include <algorithm>
#include <signal.h>
#include <utility>

#include "launch/plan/run_paths.hpp"

namespace tidegate::launch {

namespace orders = policies::agent_orders;
namespace reports = policies::agent_reports;

namespace {

int number_of(process_signal content) {
  switch (content) {
    case process_signal::terminate:
      return SIGTERM;
    case process_signal::kill:
      return SIGKILL;
    case process_signal::stop:
      return SIGSTOP;
    case process_signal::go_on:
      return SIGCONT;
  }
  return SIGKILL;
}

}  // namespace

run_processes::run_processes(const policies::cluster_spec& spec, const starter& programs,
                             std::vector<std::string> hosts, const run_identity& run)
    : spec_(spec),
      programs_(programs),
      hosts_(std::move(hosts)),
      identity_(run),
      states_(spec),
      adopts_(std::any_of(spec.jobs.begin(), spec.jobs.end(),
                          [](const auto& job) { return job.spares > 0; })) {
  if (adopts_) runtime::adopt_orphans();
}

bool run_processes::has(pid_t pid) const {
  return table_.has(pid) || spares_.has(pid);
}

process_plan run_processes::at_home(process_plan process) const {
  if (!hosts_.empty() && std::find(hosts_.begin(), hosts_.end(), process.host) == hosts_.end())
    process.host = hosts_.front();
  return process;
}

process_plan run_processes::plan_of(const orders::start& start) const {
  auto process = at_home(plan_process(spec_, start.name));
  process.incarnation = start.process.incarnation;
  return process;
}

runtime::expected<spawned_process> run_processes::spawn(const orders::start& start) {
  const auto process = plan_of(start);
  identity_.port = start.coordinator_port;
  identity_.epoch = start.epoch;
  const bool is_coordinator = start.name.role == process_role::coordinator;
  runtime::unique_fd ready;
  if (is_coordinator) {
    auto write_end = ready_.open();
    if (!write_end) return runtime::fail(write_end.error());
    ready = std::move(*write_end);
    coordinator_ = start.process;
  }
  int page = -1;  // for its heartbeats
  if (spec_.supervision.heartbeat_timeout_ms > 0) {
    const auto prepared = beats_.prepare(start.process.process, identity_.token);
    if (!prepared) return runtime::fail(prepared.error());
    page = *prepared;
  }
  const auto state = states_.prepare(start, identity_.token);
  if (!state) return runtime::fail(state.error());
  const auto spans = is_coordinator ? -1 : memory_for_spans(start.process, process.name);
  const auto log = log_path(identity_.run_dir, process.name.to_string());
  const start_descriptors descriptors{
      .ready = ready.get(), .beats = page, .spans = spans, .state = *state};
  auto pid = give_place(start, process, log, descriptors);
  const bool was_spare = pid.has_value();
  if (!pid && start.spare != policies::no_spare) {
    notes_.emplace_back(reports::noted{
        .subject = "spare_passed_over",
        .detail = "spare " + std::to_string(start.spare) + ": " + pid.error().message()});
    spares_.end(start.spare);
  }
  if (!pid) pid = start_program(start, process, log, descriptors);
  beats_.started(start.process.process);
  states_.started(start.process.process);
  pid ? rings_.started(start.process.process) : rings_.not_started(start.process.process);
  if (!pid) return runtime::fail(pid.error());
  return spawned_process{
      .pid = *pid, .started_at = table_.newest_started(), .was_spare = was_spare};
}

// A process does without it.
int run_processes::memory_for_spans(const launched_process& process, const process_name& name) {
  if (!spec_.traces) return -1;
  const auto prepared = rings_.prepare(process, name.to_string(), identity_.token);
  if (prepared) return *prepared;
  notes_.emplace_back(reports::noted{
      .subject = "no_spans", .detail = name.to_string() + ": " + prepared.error().message()});
  return -1;
}

runtime::expected<pid_t> run_processes::start_program(const orders::start& start,
                                                      const process_plan& process,
                                                      const std::string& log,
                                                      const start_descriptors& descriptors) {
  const auto request = programs_.request(process, identity_, log, descriptors);
  if (!request) return runtime::fail(request.error());
  return table_.start(start.process, process.name, *request);
}

runtime::expected<pid_t> run_processes::give_place(const orders::start& start,
                                                   const process_plan& process,
                                                   const std::string& log,
                                                   const start_descriptors& descriptors) {
  const auto* environment = spares_.environment(start.spare);
  if (environment == nullptr)
    return runtime::fail(runtime::errc::unavailable, "no spare waits for this place");
  auto place = programs_.place(process, identity_, descriptors, *environment);
  const auto output = open_log(log);
  if (!output) return runtime::fail(output.error());
  place.output = output->get();
  auto given = spares_.give(start.spare, place);
  if (!given) return runtime::fail(given.error());
  const auto pid = given->pid;
  table_.adopt(start.process, process.name, std::move(*given));
  return pid;
}

runtime::status run_processes::spawn_spare(const orders::start_spare& start) {
  if (start.copy_of != policies::no_spare) return spares_.copy(start.copy_of, start.spare);
  auto channel = runtime::spare_channel::make();
  if (!channel) return channel.error();
  const auto log =
      log_path(identity_.run_dir, "spare-" + start.job + "-" + std::to_string(start.spare));
  const auto worker = at_home(plan_worker(spec_, *spec_.find_job(start.job), start.rank));
  const auto request = programs_.spare_request(worker, identity_, log, channel->second.get());
  if (!request) return request.error();
  return spares_.start(start.spare, start.job, *request, std::move(channel->first));
}

void run_processes::signal(const launched_process& process, process_signal content) {
  table_.signal(process, number_of(content));
}

void run_processes::end_all() {
  table_.end_all();
  spares_.end_all();
  states_.forget();
  is_ending_all_ = true;
}

void run_processes::read(agent_turn& into) {
  const auto ends = table_.reap();
  states_.read(into.reports);
  for (auto& note : std::exchange(notes_, {})) into.reports.push_back(std::move(note));
  if (auto word = ready_.read())
    into.reports.emplace_back(reports::listens{
        .process = coordinator_, .port = word->port, .unusable = std::move(word->unusable)});
  for (const auto& end : ends) {
    into.reports.emplace_back(
        reports::ended{.process = {end.process, end.incarnation}, .exit = to_exit(end)});
    beats_.ended(end.process);
    states_.ended(end.process);
    if (end.process == coordinator_.process && end.incarnation == coordinator_.incarnation)
      ready_.close();
  }
  spares_.read(into);
  if (have_all_ended()) {
    is_ending_all_ = false;
    into.all_ended = true;
  }
}

}  // namespace tidegate::launch
