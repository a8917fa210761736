#include "launch/run.hpp"

#include <algorithm>
#include <fcntl.h>
#include <sys/random.h>

#include "launch/scalars.hpp"
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
  policies::launch_plan what;
  what.epoch = epoch;
  for (const auto& p : plan.processes) what.processes.push_back(p.name);
  for (const auto& j : spec.jobs)
    what.jobs.push_back({j.name, policy_text(j.consistency), j.workers, j.on_worker_loss,
                         j.checkpoint.has_value()});
  what.supervision = spec.supervision;
  what.replicated = spec.has_chains();
  what.shards = spec.shards;
  what.replicas = spec.replicas;
  what.slots = spec.slots;
  what.goes_back = std::all_of(spec.jobs.begin(), spec.jobs.end(),
                               [](const auto& j) { return j.checkpoint.has_value(); });
  what.start_timeout_ms = spec.start_timeout_ms;
  what.start_timeout_text = format_duration_ms(spec.start_timeout_ms);
  return what;
}

}  // namespace

run::run(const policies::cluster_spec& spec, const services& cluster, const starter& start,
         run_journal& journal, std::uint32_t epoch)
    : spec_(spec),
      cluster_(cluster),
      starter_(start),
      journal_(journal),
      plan_(make_plan(spec)),
      core_(plan_for_core(spec, plan_, epoch)),
      identity_{draw_token(), 0, journal.folder().path(), epoch},
      beats_(spec.supervision.heartbeat_timeout_ms) {}

exit_code run::carry_out() {
  now_ = runtime::steady_now();
  if (spec_.faults.hits()) faults_.emplace(spec_.faults, now_);
  if (auto control = control_socket::listen(journal_.folder().path()))
    control_.emplace(std::move(*control));
  else
    journal_.event("no_control", control.error().message());
  write_launcher();
  core_.begin(now_, todo_);
  carry_out_effects();
  for (decide(); !end_; decide()) {
    wait();
    now_ = runtime::steady_now();
    on_signals();
    on_ready();
    on_news();
    on_ends();
    on_hangs();
    on_faults();
    on_requests();
  }
  return conclude();
}

void run::decide() {
  core_.decide(now_, todo_);
  carry_out_effects();
  show();
}

void run::wait() {
  std::vector<pollfd> fds{{signals_.fd(), POLLIN, 0}};
  if (ready_) fds.push_back({ready_.get(), POLLIN, 0});
  if (poller_) fds.push_back({poller_->fd(), POLLIN, 0});
  table_.add_to(fds);
  helpers_.add_to(fds);
  if (control_) control_->add_to(fds);
  const auto wake = std::min(
      {core_.next_wake(), beats_.next_look(),
       faults_ && core_.is_running() ? faults_->next_wake() : policies::fault_core::never});
  auto ms = wait_ms_max;
  // Rounded up: a wake-up too early decides nothing.
  if (wake != policies::launch_core::never)
    ms = std::clamp<std::int64_t>(
        (wake - runtime::steady_now() + millisecond - 1) / millisecond, 0, wait_ms_max);
  ::poll(fds.data(), fds.size(), static_cast<int>(ms));
}

void run::on_signals() {
  for (int s = signals_.next(); s != 0; s = signals_.next()) {
    const std::string name = s == SIGINT ? "SIGINT" : s == SIGTERM ? "SIGTERM" : "SIGHUP";
    journal_.event("signal", name);
    core_.interrupted(now_, name, s == SIGINT, todo_);
    carry_out_effects();
  }
}

void run::on_ready() {
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
    core_.coordinator_ready(now_, todo_);
  } else {
    core_.coordinator_unusable(now_, "the coordinator gave no port: '" + ready_text_ + "'",
                               todo_);
  }
  carry_out_effects();
}

void run::on_news() {
  if (!poller_) return;
  auto news = poller_->take();
  for (const auto& e : news.status.events) journal_.event(e);
  if (news.gave_up) core_.unreachable(now_, news.health, todo_);
  if (news.connected)
    core_.polled(now_,
                 {news.health, news.answered, std::move(news.status.jobs), news.status.life,
                  std::move(news.status.lost), std::move(news.status.condemned)},
                 todo_);
  look_at_waits(news.health, std::move(news.status.waits));
  watch_progress();
  for (const auto& [number, result] : news.answers)
    if (const auto then = asked_.extract(number)) then.mapped()(result);
  carry_out_effects();
}

void run::on_ends() {
  for (const auto& end : table_.reap()) {
    journal_.event("process_ended", to_string(end));
    core_.ended(now_, end.process, to_exit(end));
    tell_coordinator(end);
    beats_.ended(end.process);
    pids_changed_ = true;
  }
}

// To a coordinator, a death may look like a connection that broke.
void run::tell_coordinator(const process_end& end) {
  if (!poller_ || end.name.role == policies::process_role::coordinator) return;
  ask([name = end.name, incarnation = core_.incarnation(end.process)](
          cluster_view& view) { return view.process_ended(name, incarnation); },
      [](const runtime::status&) {});
}

void run::on_hangs() {
  for (const auto& one : beats_.look(now_)) core_.hangs(one.process, one.silent_ns, todo_);
  carry_out_effects();
}

void run::carry_out_effects() {
  while (!todo_.all.empty()) {
    const auto now = std::exchange(todo_.all, {});
    for (const auto& effect : now) std::visit([this](const auto& what) { act(what); }, effect);
  }
  if (pids_changed_) write_pids();
  pids_changed_ = false;
}

void run::act(const effects::start& what) {
  const auto pid = spawn_one(what);
  pids_changed_ = true;
  if (!pid) {
    core_.could_not_start(now_, what.process, pid.error().message(), todo_);
    return;
  }
  const auto& name = plan_.processes[what.process].name;
  journal_.event(
      what.incarnation == 1 ? "process_started" : "process_restarted",
      name.to_string() + " pid " + std::to_string(*pid) +
          (what.incarnation == 1 ? "" : " incarnation " + std::to_string(what.incarnation)));
  core_.started(now_, what.process, todo_);
}

runtime::expected<pid_t> run::spawn_one(const effects::start& what) {
  auto process = plan_.processes[what.process];
  process.incarnation = what.incarnation;
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
  const auto beats = beats_.prepare(what.process, identity_.token);
  if (!beats) return runtime::fail(beats.error());
  const auto log = journal_.folder().log_path(process.name);
  auto pid = table_.start(what.process, process.name,
                          starter_.request(process, identity_, log, {write_end.get(), *beats}));
  beats_.started(what.process);
  return pid;
}

// Nobody of the epoch before lives.
void run::act(const effects::renew& what) {
  poller_.reset();
  waits_.clear();
  asked_.clear();
  for (auto& one : scalings_) one.asked = false;  // of the next one then
  ready_.reset();
  ready_text_.clear();
  identity_.port = 0;
  identity_.epoch = what.epoch;
  journal_.event("epoch", std::to_string(what.epoch));
  core_.renewed(now_, journal_.folder().record_epoch(what.epoch), todo_);
}

void run::act(const effects::watch& /*what*/) {
  actors::node_options options;
  options.coordinator_host = reachable_host(spec_);
  options.coordinator_port = identity_.port;
  options.token = identity_.token;
  options.transport = spec_.transport;
  options.start_timeout_ms = spec_.start_timeout_ms;
  poller_ = std::make_unique<status_poller>(cluster_.observe, options, poll_interval_ms);
}

void run::act(const effects::poll_now& /*what*/) {
  poller_->poll_now();
}

void run::act(const effects::stop_cluster& what) {
  poller_->finish(what.failures);
}

void run::act(const effects::leave& what) {
  ask([name = plan_.processes[what.process].name](
          cluster_view& view) { return view.leave(name.job, name.index); },
      [this, process = what.process](const runtime::status& result) {
        core_.left(now_, process, result, todo_);
      });
}

void run::act(const effects::save& what) {
  ask([job = what.job](cluster_view& view) { return view.want_last_checkpoint(job); },
      [this, job = what.job](const runtime::status& result) {
        if (!result.ok()) journal_.event("save_failed", job + ": " + result.to_string());
      });
}

void run::act(const effects::terminate& what) {
  table_.signal(what.process, SIGTERM);
}

void run::act(const effects::kill& what) {
  table_.signal(what.process, SIGKILL);
}

void run::act(const effects::note& what) {
  journal_.event(what.what, what.detail);
}

void run::act(const effects::complain& what) {
  journal_.complain(what.text);
}

void run::act(const effects::show_log& what) {
  const auto log = journal_.folder().log_path(plan_.processes[what.process].name);
  const auto lines = last_lines(log, log_lines_shown);
  journal_.complain(lines.empty() ? "its log is empty: " + log
                                  : "the end of its log, " + log + ":\n" + lines);
}

void run::act(const effects::conclude& what) {
  end_ = what;
}

}  // namespace tidegate::launch
