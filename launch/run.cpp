#include "launch/run.hpp"

#include <fcntl.h>
#include <sys/random.h>

#include "launch/progress_text.hpp"
#include "launch/scalars.hpp"
#include "runtime/base/assert.hpp"

namespace tidegate::launch {

using policies::job_state;

namespace {

constexpr std::uint32_t poll_interval_ms = 200;
constexpr int tick_ms = 100;
// How long a status may take that tells whether a worker that has ended was done.
constexpr std::int64_t judge_ms_max = 1000;
// A job that fails because a process died is told apart by waiting for the news of the death.
constexpr std::int64_t failure_settle_ms = 150;
// From the exit of a job's last worker to the coordinator's word that the job is done.
constexpr std::int64_t done_lag_ms_max = 5000;
// Ending within two seconds: a chance to leave by itself, SIGTERM, SIGKILL.
constexpr std::int64_t end_term_ms = 200;
constexpr std::int64_t end_kill_ms = 1200;
// After success nothing is in a hurry.
constexpr std::int64_t stop_term_ms = 2000;
constexpr std::int64_t stop_kill_ms = 4000;
constexpr std::size_t log_lines_shown = 10;

std::vector<policies::job_status> waiting_jobs(const policies::cluster_spec& spec) {
  std::vector<policies::job_status> jobs;
  for (const auto& j : spec.jobs) {
    auto& job = jobs.emplace_back();
    job.name = j.name;
    job.policy = policy_text(j.consistency);
  }
  return jobs;
}

std::uint64_t draw_token() {
  std::uint64_t token = 0;
  const auto n = ::getrandom(&token, sizeof token, 0);
  TIDEGATE_ASSERT(n == sizeof token,
                  "getrandom gives 8 bytes or the kernel is older than 3.17");
  return token;
}

}  // namespace

run::run(const policies::cluster_spec& spec, const services& cluster, const starter& start,
         run_journal& journal)
    : spec_(spec),
      cluster_(cluster),
      starter_(start),
      journal_(journal),
      plan_(make_plan(spec)),
      identity_{draw_token(), 0, journal.folder().path()},
      jobs_(waiting_jobs(spec)) {}

exit_code run::carry_out() {
  now_ms_ = started_ms_ = monotonic_ms_now();
  start_coordinator();
  while (!is_over()) {
    wait();
    now_ms_ = monotonic_ms_now();
    on_signals();
    on_ready();
    on_news();
    // After the news: what a failed job was killed by is known before it is judged.
    on_ends();
    judge_ends();
    check_jobs();
    advance();
    show();
  }
  return conclude();
}

bool run::start_one(const process_plan& process, int ready_fd) {
  const auto log = journal_.folder().log_path(process.name);
  const auto pid =
      table_.start(process.name, starter_.request(process, identity_, log, ready_fd));
  if (!pid) {
    begin_end(exit_code::job_failed,
              process.name.to_string() + " could not be started: " + pid.error().message());
    return false;
  }
  journal_.event("process_started", process.name.to_string() + " pid " + std::to_string(*pid));
  return true;
}

void run::start_coordinator() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    begin_end(exit_code::job_failed, "no more file descriptors");
    return;
  }
  ready_ = unique_fd(ends[0]);
  const unique_fd write_end(ends[1]);
  ::fcntl(ready_.get(), F_SETFL, O_NONBLOCK);
  start_one(plan_.processes.front(), write_end.get());
  write_pids();
}

void run::start_rest() {
  for (std::size_t i = 1; i < plan_.processes.size(); ++i) {
    if (!start_one(plan_.processes[i], -1)) break;
  }
  write_pids();
  if (phase_ != phase::starting) return;
  started_ms_ = now_ms_;
  phase_ = phase::running;
  actors::node_options options;
  options.coordinator_host = reachable_host(spec_);
  options.coordinator_port = identity_.port;
  options.token = identity_.token;
  options.transport = spec_.transport;
  options.start_timeout_ms = spec_.start_timeout_ms;
  poller_ = std::make_unique<status_poller>(cluster_.observe, options, poll_interval_ms);
}

void run::wait() {
  std::vector<pollfd> fds{{signals_.fd(), POLLIN, 0}};
  if (ready_) fds.push_back({ready_.get(), POLLIN, 0});
  if (poller_) fds.push_back({poller_->fd(), POLLIN, 0});
  table_.add_to(fds);
  ::poll(fds.data(), fds.size(), tick_ms);
}

void run::on_signals() {
  for (int s = signals_.next(); s != 0; s = signals_.next()) {
    const std::string name = s == SIGINT ? "SIGINT" : s == SIGTERM ? "SIGTERM" : "SIGHUP";
    journal_.event("signal", name);
    if (phase_ == phase::ending) {
      kill_ms_ = now_ms_;  // asked for twice: at once
    } else {
      begin_end(exit_code::job_failed, "interrupted by " + name);
    }
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
  if (!ready_text_.ends_with('\n') || phase_ != phase::starting) return;
  ready_text_.pop_back();
  const auto port = parse_unsigned(ready_text_);
  if (!port || *port == 0 || *port > 65535) {
    begin_end(exit_code::job_failed, "the coordinator gave no port: '" + ready_text_ + "'");
    return;
  }
  identity_.port = static_cast<std::uint16_t>(*port);
  start_rest();
}

void run::on_ends() {
  const auto ends = table_.reap();
  if (ends.empty()) return;
  for (const auto& end : ends) journal_.event("process_ended", to_string(end));
  write_pids();
  if (!is_watching()) return;
  const auto ticket = poller_ ? poller_->poll_now() : 0;
  for (const auto& end : ends) {
    const bool is_node = end.name.role != process_role::worker;
    if (!end.clean() || is_node) unjudged_.push_back({end, ticket, now_ms_ + judge_ms_max});
  }
}

void run::on_news() {
  if (!poller_) return;
  auto news = poller_->take();
  for (const auto& e : news.status.events) journal_.event(e);
  answered_ = news.answered;
  if (!news.status.jobs.empty()) jobs_ = std::move(news.status.jobs);
  if (!is_watching()) return;
  if (news.gave_up) {
    begin_end(exit_code::job_failed,
              "cannot reach the coordinator: " + news.health.to_string());
  } else if (news.connected && !news.health.ok() && !unhealthy_) {
    journal_.event("coordinator_silent", news.health.to_string());
  }
  unhealthy_ = news.connected && !news.health.ok();
}

void run::judge_ends() {
  if (!is_watching()) {
    unjudged_.clear();
    return;
  }
  // A death explains failures that came of it, so deaths come first, and those by a signal
  // before those by a status: a process that lost its coordinator may be reaped before the
  // coordinator.
  const auto is_node = [](const unjudged& u) {
    return u.end.name.role != process_role::worker;
  };
  const auto ripe = [&](const unjudged& u) {
    if (!is_node(u)) return answered_ >= u.ticket || now_ms_ >= u.deadline_ms;
    const auto ended_ms = u.deadline_ms - judge_ms_max;
    return u.end.by_signal || now_ms_ >= ended_ms + failure_settle_ms;
  };
  for (const bool by_signal : {true, false})
    for (const auto& u : unjudged_)
      if (u.end.by_signal == by_signal && ripe(u) &&
          judge(u.end, jobs_) == verdict::process_died) {
        process_died(u.end);
        return;
      }
  std::vector<unjudged> later;
  for (const auto& u : unjudged_) {
    if (!ripe(u)) {
      later.push_back(u);
    } else if (judge(u.end, jobs_) == verdict::after_its_job) {
      journal_.complain("warning: " + to_string(u.end) + ", after its job was done");
    } else if (failure_seen_ms_ == 0) {
      failure_seen_ms_ = now_ms_;
    }
  }
  unjudged_ = std::move(later);
}

void run::check_jobs() {
  if (!is_watching() || !poller_) return;
  if (const auto* failed = first_failed(jobs_)) {
    if (failure_seen_ms_ == 0) failure_seen_ms_ = now_ms_;
    if (unjudged_.empty() && now_ms_ >= failure_seen_ms_ + failure_settle_ms) {
      begin_end(exit_code::job_failed, "job " + failed->name + " failed: " + failed->failure);
    }
    return;
  }
  bool left_alone = false;
  for (const auto& job : spec_.jobs) {
    const auto* status = find_job(jobs_, job.name);
    if (status == nullptr || status->state == job_state::done) continue;
    const auto gone = job.workers - static_cast<std::uint32_t>(table_.workers_of(job.name));
    const bool here = gone > status->workers_finished;
    left_alone = left_alone || here;
    if (here && workers_gone_ms_ != 0 && now_ms_ >= workers_gone_ms_ + done_lag_ms_max) {
      begin_end(exit_code::job_failed, "job " + job.name + " failed: " + std::to_string(gone) +
                                           " of its workers have exited, but only " +
                                           std::to_string(status->workers_finished) +
                                           " have finished; did they call finish()?");
      return;
    }
    if (status->state == job_state::waiting && status->workers_joined < job.workers &&
        now_ms_ >= started_ms_ + spec_.start_timeout_ms) {
      begin_end(exit_code::job_failed,
                "job " + job.name + " failed: " + std::to_string(status->workers_joined) +
                    " of " + std::to_string(job.workers) + " workers joined within " +
                    format_duration_ms(spec_.start_timeout_ms) + " (cluster.start_timeout)");
      return;
    }
  }
  if (!left_alone) workers_gone_ms_ = 0;
  if (left_alone && workers_gone_ms_ == 0) workers_gone_ms_ = now_ms_;
}

void run::advance() {
  if (phase_ == phase::starting && now_ms_ >= started_ms_ + spec_.start_timeout_ms) {
    begin_end(exit_code::job_failed, "the coordinator was not ready within " +
                                         format_duration_ms(spec_.start_timeout_ms) +
                                         " (cluster.start_timeout)");
  }
  if (phase_ == phase::running && all_done(jobs_)) phase_ = phase::leaving;
  if (phase_ == phase::leaving && unjudged_.empty() &&
      table_.count(process_role::worker) == 0) {
    phase_ = phase::stopping;
    poller_->finish({});
    term_ms_ = now_ms_ + stop_term_ms;
    kill_ms_ = now_ms_ + stop_kill_ms;
  }
  if (term_ms_ != 0 && now_ms_ >= term_ms_) {
    table_.signal_all(SIGTERM);
    term_ms_ = 0;
  }
  if (kill_ms_ != 0 && now_ms_ >= kill_ms_) {
    for (const auto& p : table_.list()) journal_.event("process_killed", p.name.to_string());
    table_.signal_all(SIGKILL);
    kill_ms_ = 0;
  }
}

void run::begin_end(exit_code outcome, const std::string& reason) {
  if (phase_ == phase::ending) return;
  const bool jobs_are_done = phase_ == phase::stopping;
  phase_ = phase::ending;
  outcome_ = jobs_are_done ? exit_code::done : outcome;
  reason_ = reason;
  term_ms_ = now_ms_ + end_term_ms;
  kill_ms_ = now_ms_ + end_kill_ms;
  journal_.event("ending", reason);
  journal_.complain("tidegate: " + reason);
  status_poller::job_failures failures;
  for (const auto& job : jobs_) {
    if (job.state != job_state::done && job.state != job_state::failed) {
      failures.emplace_back(job.name, reason);
    }
  }
  if (poller_) poller_->finish(std::move(failures));
}

void run::process_died(const process_end& end) {
  const auto log = journal_.folder().log_path(end.name);
  begin_end(exit_code::process_died, to_string(end));
  const auto lines = last_lines(log, log_lines_shown);
  journal_.complain(lines.empty() ? "its log is empty: " + log
                                  : "the end of its log, " + log + ":\n" + lines);
}

}  // namespace tidegate::launch
