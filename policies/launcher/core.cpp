#include "policies/launcher/core.hpp"

#include <algorithm>
#include <utility>

#include "policies/model/millisecond.hpp"
#include "runtime/base/assert.hpp"

namespace tidegate::policies {

namespace {

// Ending within two seconds: a chance to leave by itself, SIGTERM, SIGKILL.
constexpr std::int64_t end_terminate_after = 200 * millisecond;
constexpr std::int64_t end_kill_after = 1200 * millisecond;
// After success nothing is in a hurry.
constexpr std::int64_t stop_terminate_after = 2000 * millisecond;
constexpr std::int64_t stop_kill_after = 4000 * millisecond;

std::vector<job_status> waiting_jobs(const launch_plan& plan) {
  std::vector<job_status> jobs;
  for (const auto& planned : plan.jobs) {
    auto& job = jobs.emplace_back();
    job.name = planned.name;
    job.policy = planned.policy;
  }
  return jobs;
}

}  // namespace

launch_core::launch_core(launch_plan plan)
    : plan_(std::move(plan)),
      start_timeout_(plan_.start_timeout_ms * millisecond),
      processes_(plan_.processes.size(), process_state::waiting),
      jobs_(waiting_jobs(plan_)),
      incarnations_(plan_.processes.size(), 1),
      intensity_(plan_.processes.size()),
      starts_(plan_.processes.size()),
      killed_as_(plan_.processes.size()),
      slots_wanted_(plan_.slots) {
  TIDEGATE_ASSERT(!plan_.processes.empty() && role_of(0) == process_role::coordinator,
                  "the others are told where the coordinator is");
}

void launch_core::begin(std::int64_t now, launch_effects& out) {
  phase_since_ = now;
  start_next(now, out);
}

// One after the other, so that the first that does not start is the last that was tried.
void launch_core::start_next(std::int64_t now, launch_effects& out) {
  const auto next = std::find(processes_.begin(), processes_.end(), process_state::waiting);
  if (next != processes_.end()) {
    *next = process_state::starting;
    const auto process = static_cast<process_number>(next - processes_.begin());
    row_ = process;
    out.all.emplace_back(launch_effects::start{process, incarnations_[process], plan_.epoch});
    return;
  }
  phase_ = phase::running;
  phase_since_ = now;
  watches_ = true;
  out.all.emplace_back(launch_effects::watch{});
}

void launch_core::started(std::int64_t now, process_number process, launch_effects& out) {
  TIDEGATE_ASSERT(processes_[process] == process_state::starting, "it was to be started");
  processes_[process] = process_state::alive;
  starts_[process].at = now;
  // The others wait for the coordinator to be ready; one that comes back is out of the row.
  if (process != 0 && process == row_ && phase_ == phase::starting) start_next(now, out);
}

void launch_core::could_not_start(std::int64_t now, process_number process,
                                  const std::string& why, launch_effects& out) {
  TIDEGATE_ASSERT(processes_[process] == process_state::starting, "it was to be started");
  processes_[process] = process_state::gone;
  if (!is_watching()) return;  // of several in one turn
  const auto text = plan_.processes[process].to_string() + " could not be started: " + why;
  if (is_extra(process)) {
    out.all.emplace_back(launch_effects::complain{"tidegate: " + text});
    processes_[process] = process_state::leaving;
    out.all.emplace_back(launch_effects::leave{process});
    return;
  }
  // One that comes back may want again what is short for a while.
  if ((incarnations_[process] > 1 || is_beyond(plan_.processes[process], plan_.slots)) &&
      comes_back(process))
    return bury({process, {process_exit::ending::bad_status, text}, now, 0}, now, out);
  begin_end(now, run_outcome::job_failed, text, out);
}

void launch_core::coordinator_ready(std::int64_t now, launch_effects& out) {
  if (phase_ == phase::starting) start_next(now, out);
}

void launch_core::coordinator_unusable(std::int64_t now, const std::string& why,
                                       launch_effects& out) {
  if (phase_ == phase::starting) begin_end(now, run_outcome::job_failed, why, out);
}

void launch_core::polled(std::int64_t now, const coordinator_news& news, launch_effects& out) {
  if (!watches_) return;  // of an epoch that is over
  answered_ = news.answered;
  if (!news.jobs.empty()) jobs_ = news.jobs;
  if (away_ && news.health.ok() && news.life >= incarnations_[0]) {
    away_ = false;
    is_back_ = true;
  }
  if (is_watching() && healthy_ && !news.health.ok())
    out.all.emplace_back(launch_effects::note{"coordinator_silent", news.health.to_string()});
  healthy_ = news.health.ok();
  for (const auto& sentence : news.condemned) condemned(sentence, out);
  if (!news.lost.empty() && is_watching()) lost(now, news.lost, out);
}

void launch_core::unreachable(std::int64_t now, const runtime::status& why,
                              launch_effects& out) {
  if (!is_watching()) return;
  begin_end(now, run_outcome::job_failed, "cannot reach the coordinator: " + why.to_string(),
            out);
}

void launch_core::interrupted(std::int64_t now, const std::string& by, bool saves,
                              launch_effects& out) {
  const bool asked_before = phase_ == phase::ending || !interrupted_by_.empty();
  if (saves && !asked_before && begin_saving(now, by, out)) return;
  if (phase_ != phase::ending) {
    is_interrupted_ = true;
    begin_end(now, run_outcome::job_failed, "interrupted by " + by, out);
  }
  if (asked_before) kill_at_ = now;
}

void launch_core::ended(std::int64_t now, process_number process, process_exit exit) {
  TIDEGATE_ASSERT(processes_[process] == process_state::alive, "what ends has been started");
  processes_[process] = process_state::gone;
  if (const auto reason = std::exchange(killed_as_[process], {}); !reason.empty())
    exit.text += ", as " + reason;
  if (!is_watching()) return;
  poll_wanted_ = watches_;
  away_ = away_ || (process == 0 && watches_);
  if (is_unwanted(process)) return;
  // The coordinator has sent it away; decide() starts it again if it is wanted by now.
  if (exit.kind == process_exit::ending::clean && plan_.slots > 0 &&
      serves_shard(role_of(process))) {
    processes_[process] = process_state::unused;
    slot_ended_ = true;
    return;
  }
  const bool is_node = role_of(process) != process_role::worker;
  if (exit.kind != process_exit::ending::clean || is_node)
    unjudged_.push_back({process, std::move(exit), now, watches_ ? polls_ + 1 : 0});
}

// Whatever holds it up, nobody can say whether it would ever end. Killed, it is a death like
// any other.
void launch_core::hangs(process_number process, std::int64_t silent_ns, launch_effects& out) {
  if (!is_watching() || processes_[process] != process_state::alive) return;
  const auto text = std::to_string(silent_ns / millisecond) + " ms";
  killed_as_[process] = "it had hung for " + text;
  out.all.emplace_back(launch_effects::note{
      "process_hangs", plan_.processes[process].to_string() + " for " + text});
  out.all.emplace_back(launch_effects::kill{process});
}

// A sentence stays in the news: who takes the place of the condemned has another incarnation.
void launch_core::condemned(const condemned_process& sentence, launch_effects& out) {
  if (!is_watching()) return;
  for (process_number process = 0; process < processes_.size(); ++process) {
    if (plan_.processes[process] != sentence.name ||
        incarnations_[process] != sentence.incarnation ||
        processes_[process] != process_state::alive || !killed_as_[process].empty())
      continue;
    killed_as_[process] = sentence.reason;
    out.all.emplace_back(launch_effects::kill{process});
  }
}

void launch_core::decide(std::int64_t now, launch_effects& out) {
  if (poll_wanted_ && is_watching()) {
    ++polls_;
    out.all.emplace_back(launch_effects::poll_now{});
  }
  poll_wanted_ = false;
  if (std::exchange(is_back_, false) && phase_ == phase::running) {
    phase_since_ = now;
    if (!interrupted_by_.empty()) ask_to_save(out);
  }
  if (is_watching()) end_unwanted(now, out);
  if (slot_ended_ && is_watching() && watches_) {
    slot_ended_ = false;
    start_slots(out);
  }
  judge_ends(now, out);
  start_again(now, out);
  check_jobs(now, out);
  check_joins(now, out);
  check_saving(now, out);
  if (phase_ == phase::clearing) go_back(now, out);
  advance(now, out);
  if (!is_over() || concluded_) return;
  concluded_ = true;
  out.all.emplace_back(launch_effects::conclude{outcome(), reason_});
}

void launch_core::advance(std::int64_t now, launch_effects& out) {
  if (phase_ == phase::starting && now >= phase_since_ + start_timeout_)
    begin_end(now, run_outcome::job_failed,
              "the coordinator was not ready within " + plan_.start_timeout_text +
                  " (cluster.start_timeout)",
              out);
  if (phase_ == phase::running && all_done()) {
    phase_ = phase::leaving;
    // What a worker may take to join it may take to leave.
    terminate_at_ = now + start_timeout_;
    kill_at_ = terminate_at_ + (stop_kill_after - stop_terminate_after);
  }
  // Nodes stay until the last worker has left.
  auto left = alive();
  if (phase_ == phase::leaving)
    std::erase_if(left, [&](auto p) { return role_of(p) != process_role::worker; });
  if (phase_ == phase::leaving && unjudged_.empty() && left.empty()) {
    phase_ = phase::stopping;
    left = alive();
    terminate_at_ = now + stop_terminate_after;
    kill_at_ = now + stop_kill_after;
    out.all.emplace_back(launch_effects::stop_cluster{});
  }
  if (now >= terminate_at_) {
    terminate_at_ = never;
    for (const auto process : left) {
      if (phase_ == phase::leaving)
        out.all.emplace_back(launch_effects::note{
            "worker_lingers", plan_.processes[process].to_string() + " has not left within " +
                                  plan_.start_timeout_text +
                                  " of the end of all jobs (cluster.start_timeout)"});
      out.all.emplace_back(launch_effects::terminate{process});
    }
  }
  if (now >= kill_at_) {
    kill_at_ = never;
    for (const auto process : left) {
      out.all.emplace_back(
          launch_effects::note{"process_killed", plan_.processes[process].to_string()});
      out.all.emplace_back(launch_effects::kill{process});
    }
  }
}

void launch_core::begin_end(std::int64_t now, run_outcome outcome, const std::string& reason,
                            launch_effects& out) {
  TIDEGATE_ASSERT(phase_ != phase::ending, "one reason ends a run");
  phase_ = phase::ending;
  outcome_ = outcome;
  reason_ = reason;
  terminate_at_ = now + end_terminate_after;
  kill_at_ = now + end_kill_after;
  unjudged_.clear();
  resting_.clear();
  unwanted_.clear();
  out.all.emplace_back(launch_effects::note{"ending", reason});
  out.all.emplace_back(launch_effects::complain{"tidegate: " + reason});
  if (!watches_) return;
  launch_effects::stop_cluster stop;
  for (const auto& job : jobs_)
    if (!has_ended(job)) stop.failures.emplace_back(job.name, reason);
  out.all.emplace_back(std::move(stop));
}

bool launch_core::is_over() const {
  return phase_ >= phase::stopping && alive().empty() &&
         std::find(processes_.begin(), processes_.end(), process_state::starting) ==
             processes_.end();
}

std::vector<process_number> launch_core::alive() const {
  std::vector<process_number> all;
  for (process_number i = 0; i < processes_.size(); ++i)
    if (processes_[i] == process_state::alive) all.push_back(i);
  return all;
}

bool launch_core::any_worker_alive() const {
  const auto left = alive();
  return std::any_of(left.begin(), left.end(),
                     [&](auto p) { return role_of(p) == process_role::worker; });
}

std::uint32_t launch_core::workers_alive(const std::string& job) const {
  std::uint32_t count = 0;
  for (const auto process : alive())
    if (role_of(process) == process_role::worker && plan_.processes[process].job == job)
      ++count;
  return count;
}

const job_status* launch_core::job(const std::string& name) const {
  const auto at =
      std::find_if(jobs_.begin(), jobs_.end(), [&](const auto& j) { return j.name == name; });
  return at == jobs_.end() ? nullptr : &*at;
}

std::vector<job_status> launch_core::result() const {
  auto jobs = jobs_;
  for (auto& job : jobs) {
    // A job that is told of the end by its coordinator has failed for that reason.
    const bool by_the_end = job.state == job_state::failed && job.failure == reason_;
    if (has_ended(job) && !(is_interrupted_ && by_the_end)) continue;
    job.state = is_interrupted_ ? job_state::interrupted : job_state::failed;
    job.failure = reason_;
  }
  return jobs;
}

}  // namespace tidegate::policies
