#include "launch/run/run.hpp"

#include <algorithm>
#include <fcntl.h>
#include <sys/random.h>

#include "launch/text/scalars.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/unix_time.hpp"

namespace tidegate::launch {

namespace {

constexpr std::uint32_t poll_interval_ms = 200;
constexpr std::int64_t millisecond = 1'000'000;
constexpr std::int64_t wait_ms_max = 60'000;  // an int holds it
constexpr std::size_t log_lines_shown = 10;

std::uint64_t draw_token() {
  std::uint64_t token = 0;
  const auto n = ::getrandom(&token, sizeof token, 0);
  TIDEGATE_ASSERT(n == sizeof token,
                  "getrandom gives 8 bytes or the kernel is older than 3.17");
  return token;
}

policies::launch_plan plan_for_core(const policies::cluster_spec& spec,
                                    const cluster_plan& plan, std::uint32_t epoch) {
  policies::launch_plan launch_plan;
  launch_plan.epoch = epoch;
  for (const auto& p : plan.processes) launch_plan.processes.push_back(p.name);
  for (const auto& j : spec.jobs)
    launch_plan.jobs.push_back({j.name, policy_text(j.consistency), j.workers, j.on_worker_loss,
                                j.checkpoint.has_value()});
  launch_plan.supervision = spec.supervision;
  launch_plan.replicated = spec.has_chains();
  launch_plan.shards = spec.shards;
  launch_plan.replicas = spec.replicas;
  launch_plan.slots = spec.slots;
  launch_plan.goes_back = std::all_of(spec.jobs.begin(), spec.jobs.end(),
                                      [](const auto& j) { return j.checkpoint.has_value(); });
  launch_plan.start_timeout_ms = spec.start_timeout_ms;
  launch_plan.start_timeout_text = format_duration_ms(spec.start_timeout_ms);
  return launch_plan;
}

}  // namespace

run::run(const policies::cluster_spec& spec, const services& cluster, const starter& start,
         run_journal& journal, std::uint32_t epoch)
    : spec_(spec),
      cluster_(cluster),
      starter_(start),
      journal_(journal),
      plan_(make_plan(spec)),
      shell_(plan_for_core(spec, plan_, epoch), *this, spec.supervision.heartbeat_timeout_ms),
      identity_{draw_token(), 0, journal.folder().path(), epoch} {}

exit_code run::carry_out() {
  now_ = runtime::steady_now();
  if (spec_.faults.hits()) faults_.emplace(spec_.faults, now_);
  if (auto control = control_socket::listen(journal_.folder().path()))
    control_.emplace(std::move(*control));
  else
    journal_.event("no_control", control.error().message());
  write_launcher();
  shell_.begin(now_);
  show();
  while (!shell_.ended()) {
    wait();
    now_ = runtime::steady_now();
    shell_.turn(now_, collect());
    cause_faults();
    show();
  }
  return conclude();
}

void run::wait() {
  std::vector<pollfd> fds{{signals_.fd(), POLLIN, 0}};
  if (ready_) fds.push_back({ready_.get(), POLLIN, 0});
  if (poller_) fds.push_back({poller_->fd(), POLLIN, 0});
  table_.add_to(fds);
  helpers_.add_to(fds);
  if (control_) control_->add_to(fds);
  const bool faulty = faults_ && shell_.core().is_running();
  const auto wake =
      std::min(shell_.next_wake(), faulty ? faults_->next_wake() : policies::fault_core::never);
  auto ms = wait_ms_max;
  // Rounded up: a wake-up too early decides nothing.
  if (wake != policies::launch_core::never)
    ms = std::clamp<std::int64_t>(
        (wake - runtime::steady_now() + millisecond - 1) / millisecond, 0, wait_ms_max);
  ::poll(fds.data(), fds.size(), static_cast<int>(ms));
}

// What has happened since the last turn.
run_turn run::collect() {
  run_turn turn;
  for (int s = signals_.next(); s != 0; s = signals_.next())
    turn.signals.push_back({s == SIGINT    ? "SIGINT"
                            : s == SIGTERM ? "SIGTERM"
                                           : "SIGHUP",
                            s == SIGINT});
  read_ready(turn);
  if (poller_) turn.news = take_news();
  for (const auto& end : table_.reap()) {
    turn.ends.push_back({end.process, to_exit(end)});
    beats_.ended(end.process);
  }
  read_requests(turn);
  return turn;
}

void run::read_ready(run_turn& into) {
  if (!ready_) return;
  char text[32];
  const auto n = ::read(ready_.get(), text, sizeof text);
  if (n < 0) return;
  ready_text_.append(text, static_cast<std::size_t>(n));
  // Without a line before the end the coordinator is about to end as well, which says more.
  if (n != 0 && !ready_text_.ends_with('\n')) return;
  ready_.reset();
  if (!ready_text_.ends_with('\n')) return;
  ready_text_.pop_back();
  const auto port = parse_unsigned(ready_text_);
  if (port && *port != 0 && *port <= 65535) {
    identity_.port = static_cast<std::uint16_t>(*port);
    into.coordinator_ready = true;
  } else {
    into.coordinator_unusable = "the coordinator gave no port: '" + ready_text_ + "'";
  }
}

poll_news run::take_news() {
  auto news = poller_->take();
  for (const auto& e : news.status.events) journal_.event(e);
  look_at_waits(news.health, std::move(news.status.waits));
  watch_progress();
  return news;
}

runtime::expected<std::string> run::spawn(const policies::launch_effects::start& start) {
  const auto pid = spawn_one(start);
  if (!pid) return runtime::fail(pid.error());
  return plan_.processes[start.process].name.to_string() + " pid " + std::to_string(*pid);
}

runtime::expected<pid_t> run::spawn_one(const policies::launch_effects::start& start) {
  plan_the_others();
  auto process = plan_.processes[start.process];
  process.incarnation = start.incarnation;
  runtime::unique_fd write_end;
  if (process.name.role == process_role::coordinator) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      return runtime::fail(runtime::errc::io_error, "no more file descriptors");
    ready_ = runtime::unique_fd(ends[0]);
    ready_text_.clear();
    write_end = runtime::unique_fd(ends[1]);
    ::fcntl(ready_.get(), F_SETFL, O_NONBLOCK);
  }
  int beats = -1;  // a page for them
  if (shell_.expects_beats()) {
    const auto page = beats_.prepare(start.process, identity_.token);
    if (!page) return runtime::fail(page.error());
    beats = *page;
  }
  const auto log = journal_.folder().log_path(process.name);
  auto pid = table_.start({start.process, start.incarnation}, process.name,
                          starter_.request(process, identity_, log, {write_end.get(), beats}));
  beats_.started(start.process);
  return pid;
}

// Those that the shell has added.
void run::plan_the_others() {
  const auto& names = shell_.core().processes();
  for (auto next = plan_.processes.size(); next < names.size(); ++next) {
    const auto& name = names[next];
    const auto job = std::find_if(spec_.jobs.begin(), spec_.jobs.end(),
                                  [&](const auto& spec) { return spec.name == name.job; });
    plan_.processes.push_back(policies::serves_shard(name.role)
                                  ? plan_shard(spec_, name.role, name.index)
                                  : plan_worker(spec_, *job, name.index));
  }
}

void run::end(const launched_process& process, bool by_force) {
  table_.signal(process, by_force ? SIGKILL : SIGTERM);
}

void run::watch() {
  actors::node_options options;
  options.coordinator_host = reachable_host(spec_);
  options.coordinator_port = identity_.port;
  options.token = identity_.token;
  options.transport = spec_.transport;
  options.start_timeout_ms = spec_.start_timeout_ms;
  poller_ = std::make_unique<status_poller>(cluster_.observe, options, poll_interval_ms);
}

void run::unwatch() {
  poller_.reset();
  waits_.clear();
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
    }
    return {};
  });
}

void run::finish(poll_shell::job_failures failures) {
  poller_->finish(std::move(failures));
}

// Nobody of the epoch before lives.
runtime::status run::record_epoch(std::uint32_t epoch) {
  ready_.reset();
  ready_text_.clear();
  identity_.port = 0;
  identity_.epoch = epoch;
  return journal_.folder().record_epoch(epoch);
}

void run::event(const std::string& subject, const std::string& detail) {
  journal_.event(subject, detail);
}

void run::show_log(policies::process_number process) {
  const auto log = journal_.folder().log_path(plan_.processes[process].name);
  const auto lines = last_lines(log, log_lines_shown);
  journal_.complain(lines.empty() ? "its log is empty: " + log
                                  : "the end of its log, " + log + ":\n" + lines);
}

}  // namespace tidegate::launch
