#include "launch/run/run.hpp"

#include <algorithm>
#include <filesystem>
#include <signal.h>
#include <utility>

#include "launch/config/write_yaml.hpp"
#include "launch/plan/environment.hpp"
#include "launch/processes/poll_until.hpp"
#include "launch/processes/process_records.hpp"
#include "launch/run/launch_plan.hpp"
#include "launch/run/run_status.hpp"
#include "launch/text/progress_text.hpp"
#include "policies/placement/hosts.hpp"
#include "runtime/base/object_place.hpp"
#include "runtime/base/processor.hpp"
#include "runtime/base/secret.hpp"
#include "runtime/base/unix_time.hpp"
#include "runtime/process/free_port.hpp"

namespace tidegate::launch {

namespace {

constexpr std::uint32_t poll_interval_ms = 200;

// How libraries and logs are set up here holds for all hosts; where things are does not.
variables variables_for_hosts(const variables& own, const policies::cluster_spec& spec) {
  variables all;
  if (has_object_place(spec))
    for (const auto* name : runtime::object_variables)
      if (const auto at = own.find(name); at != own.end()) all.insert(*at);
  for (const auto& [name, value] : own)
    if (name.starts_with("UCX_") || name == "TIDEGATE_LOG") all[name] = value;
  return all;
}

agent_config common_config(const policies::cluster_spec& spec, const run_programs& programs,
                           const run_identity& run, const run_folder& folder) {
  std::error_code error;
  return {.host = {},
          .launcher_host = {},
          .token = run.token,
          .run_dir = run.run_dir,
          .folder = std::filesystem::current_path(error).string(),
          .workers_port = run.workers_port,
          .cluster = write_yaml(spec),
          .variables = variables_for_hosts(parse_environment(environ), spec),
          .instructions = runtime::vector_instructions(),
          .staged = programs.staged,
          .run = folder.claims().run()};
}

policies::launch_plan plan_of(const policies::cluster_spec& spec, std::uint32_t epoch,
                              const run_folder& folder) {
  auto plan = launch_plan_of(spec, epoch);
  // Who resumes a run has looked whether it can be read.
  plan.cancelled = folder.cancelled_jobs().value_or(std::vector<std::string>());
  // UCX then takes another way than the hosts' addresses: only the coordinator is there.
  const auto environment = parse_environment(environ);
  if (may_send_over_ucx(spec, environment) &&
      !variable_in(environment, "UCX_NET_DEVICES").empty())
    std::erase_if(plan.must_reach, [&](const auto& pair) {
      return pair.second != plan.homes.at(plan.processes.front().to_string());
    });
  return plan;
}

}  // namespace

run::run(const policies::cluster_spec& spec, const services& cluster,
         const run_programs& programs, run_journal& journal, std::uint32_t epoch)
    : spec_(spec),
      cluster_(cluster),
      journal_(journal),
      identity_{.token = runtime::draw_number(),
                .port = 0,
                .run_dir = journal.folder().path(),
                .epoch = epoch,
                .workers_port = runtime::free_port()},
      processes_(spec, programs.own, own_hosts(spec), identity_),
      others_(spec, inner_agent::host, cluster.agents,
              {.token = identity_.token, .unreachable_ms = spec.supervision.unreachable_ms}),
      agent_(processes_, others_, spec.supervision.heartbeat_timeout_ms),
      agents_(spec, programs.agents, cluster.agents,
              common_config(spec, programs, identity_, journal.folder())),
      shell_(plan_of(spec, epoch, journal.folder()), *this, runtime::draw_number()),
      output_(spec, journal),
      metrics_(journal.folder().path()),
      faults_(spec, programs.own, journal, shell_),
      requests_(spec),
      traces_(journal, spec_) {}

runtime::status run::follow_workers() {
  return output_.follow_workers();
}

void run::show_to(run_outlets outlets) {
  monitor_ = std::move(outlets.monitor);
  export_ = std::move(outlets.metrics);
  if (export_) journal_.event("otlp", "metrics go to " + export_->spec().url);
  if (!monitor_) return;
  const auto address = "http://" + to_string(monitor_->address());
  monitor_->show(runtime::steady_now(), view());
  journal_.event("monitor", address);
  journal_.screen().print("monitor: " + address + "/");
}

void run::show_to_monitor() {
  if (!monitor_->is_listening()) {
    journal_.event("monitor_lost",
                   "nobody is answered any more at http://" + to_string(monitor_->address()));
    monitor_.reset();
  } else if (monitor_->is_due(now_)) {
    monitor_->show(now_, view());
  }
}

void run::send_metrics() {
  tell_of_metrics();
  if (export_->is_due(now_)) export_->show(now_, view());
}

void run::tell_of_metrics() {
  const auto news = export_->take_news();
  if (!news) return;
  journal_.event(news->is_lost ? "otlp_lost" : "otlp_back", news->detail);
  journal_.complain(news->is_lost
                        ? "tidegate: metrics do not reach the collector: " + news->detail
                        : "tidegate: metrics reach the collector again; " + news->detail);
}

void run::conclude_outlets() {
  if (monitor_) monitor_->show(now_, view());
  if (!export_) return;
  tell_of_metrics();
  export_->conclude(view());
  tell_of_metrics();
}

exit_code run::carry_out() {
  now_ = runtime::steady_now();
  faults_.begin(now_);
  requests_.listen(journal_);
  output_.write_launcher(identity_.token);
  shell_.begin(now_);
  show();
  while (!shell_.ended()) {
    wait();
    now_ = runtime::steady_now();
    auto turn = collect();
    shell_.turn(now_, std::move(turn));
    faults_.cause(now_);
    show();
    if (monitor_) show_to_monitor();
    if (export_) send_metrics();
  }
  if (poller_) shell_.conclude(now_, take_news());  // of the poll when the end was ordered
  conclude_outlets();
  faults_.finish();
  return output_.conclude(shell_.core());
}

void run::show() {
  output_.show(now_, shell_.core(), metrics_, [this] { return view(); });
}

void run::wait() {
  std::vector<pollfd> fds{{.fd = signals_.fd(), .events = POLLIN, .revents = 0}};
  if (poller_) fds.push_back({poller_->fd(), POLLIN, 0});
  processes_.add_to(fds);
  others_.add_to(fds);
  agents_.add_to(fds);
  faults_.add_to(fds);
  output_.add_to(fds);
  requests_.add_to(fds);
  const auto wake = std::min(
      {shell_.next_wake(), agent_.next_wake(), agents_.next_wake(), faults_.next_wake()});
  poll_until(fds, processes_.has_news() ? 0 : wake);
}

// What has happened since the last turn.
run_turn run::collect() {
  run_turn turn;
  for (int s = signals_.next(); s != 0; s = signals_.next())
    turn.signals.push_back({s == SIGINT    ? "SIGINT"
                            : s == SIGTERM ? "SIGTERM"
                                           : "SIGHUP",
                            s == SIGINT});
  agent_turn of_host;
  processes_.read(of_host);
  others_.read(of_host);
  agent_.turn(now_, std::move(of_host));
  agents_.read();
  if (poller_) turn.news = take_news();
  if (processes_.adopts())
    reap_strays(
        [&](pid_t pid) { return processes_.has(pid) || agents_.has(pid) || faults_.has(pid); });
  requests_.read(turn, [this] { return status_line(view()); });
  return turn;
}

run_view run::view() const {
  const auto& core = shell_.core();
  run_view all{.run_dir = journal_.folder().path(),
               .cluster = spec_.name,
               .version = TIDEGATE_VERSION,
               .state = core.phase_text(),
               .epoch = core.epoch()};
  if (monitor_) all.monitor = to_string(monitor_->address());
  for (const auto& job : spec_.jobs)
    if (const auto* status = core.job(job.name))
      all.jobs.push_back({.status = *status, .rates = metrics_.rates(job.name)});
  all.processes = shell_.living();
  all.hosts.push_back({.name = "", .state = "up"});
  for (const auto* host : policies::agent_hosts(spec_)) {
    const auto number = static_cast<policies::host_number>(all.hosts.size());
    all.hosts.push_back({.name = host->name,
                         .state = shell_.is_up(number)     ? "up"
                                  : shell_.is_lost(number) ? "lost"
                                                           : "starting"});
  }
  all.waits = output_.waits();
  all.shards = metrics_.shards();
  all.replicas = metrics_.replicas();
  return all;
}

// What led to it is in the memory of processes for some seconds.
void run::trace_waits(const policies::cluster_status& status) {
  const bool runs = std::ranges::any_of(
      status.jobs, [](const auto& job) { return job.state == policies::job_state::running; });
  if (runs && !status.waits.empty() && output_.waits().empty())
    shell_.collect_spans(
        {.why = span_request::reason::hang, .detail = wait_text(status.waits)});
}

poll_news run::take_news() {
  auto news = poller_->take();
  for (const auto& e : news.status.events) journal_.event(e);
  if (const auto added = metrics_.add(now_, runtime::unix_now(), news.status);
      !added.ok() && !std::exchange(metrics_failed_, true))
    journal_.complain("tidegate: metrics.jsonl has gaps: " + added.message());
  trace_waits(news.status);
  output_.look_at_waits(now_, shell_.core(), news.health, std::move(news.status.waits));
  output_.watch_progress(now_, shell_.core());
  return news;
}

void run::start_agent(const policies::host_effects::start_agent& start) {
  if (start.host == inner_agent::host) return agent_.start(now_, start.start);
  journal_.event("agent_started", "host " + policies::agent_hosts(spec_)[start.host - 1]->name);
  agents_.start(start.host, start.start);
}

void run::end_agent(policies::host_number host) {
  if (host == inner_agent::host) return agent_.end();
  agents_.end(host);
}

void run::send(policies::agent_connection over, const policies::launcher_frame& frame) {
  if (over == inner_agent::connection) return agent_.send(now_, frame);
  agents_.send(over, frame);
}

void run::close(policies::agent_connection connection) {
  if (connection != inner_agent::connection) agents_.close(connection);
}

std::vector<agent_event> run::take_agent_events() {
  auto events = agent_.take_events();
  for (auto& event : agents_.take_events()) events.push_back(std::move(event));
  return events;
}

void run::watch() {
  actors::node_options options;
  options.coordinator_host = reachable_host(spec_);
  options.coordinator_port = identity_.port;
  options.token = identity_.token;
  options.encrypt = spec_.security.encrypt;
  options.transport = spec_.transport;
  options.start_timeout_ms = spec_.start_timeout_ms;
  poller_ = std::make_unique<status_poller>(cluster_.observe, options, poll_interval_ms);
}

void run::unwatch() {
  poller_.reset();
  output_.forget_waits();
}

std::uint64_t run::ask(const launch_question& question) {
  using about = launch_question::kind;
  return poller_->ask([question](cluster_view& view) -> runtime::status {
    switch (question.about) {
      case about::leave:
        return view.leave(question.name.job, question.name.index);
      case about::save:
        return view.want_last_checkpoint(question.name.job);
      case about::scale:
        return view.scale(question.name.job, question.number);
      case about::scale_shards:
        return view.scale_shards(question.number);
      case about::process_ended:
        return view.process_ended(question.name, question.incarnation);
      case about::fail_job:
        return view.fail_job(question.name.job, question.why);
    }
    return {};
  });
}

void run::finish(poll_shell::job_failures failures) {
  poller_->finish(std::move(failures));
}

// Nobody of the epoch before lives.
runtime::status run::record_epoch(std::uint32_t epoch) {
  identity_.port = 0;
  return journal_.folder().record_epoch(epoch);
}

runtime::status run::record_cancelled(const std::string& job) {
  return journal_.folder().record_cancelled(job);
}

void run::event(const std::string& subject, const std::string& detail,
                const policies::event_fields& about) {
  journal_.event(subject, detail, about);
}

runtime::status run::write_pids(const std::vector<live_process>& processes) {
  std::vector<std::string> hosts{""};  // the launcher's own
  for (const auto* host : policies::agent_hosts(spec_)) hosts.push_back(host->name);
  return journal_.write("pids.json", pids_json(processes, hosts));
}

void run::end_spans() {
  if (const auto reply = traces_.end()) requests_.answer(reply->asker, reply->line);
}

void run::answer(std::uint32_t asker, const std::string& line) {
  requests_.answer(asker, line);
}

}  // namespace tidegate::launch
