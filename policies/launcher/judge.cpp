// launch_core: what the ends of processes and the states of jobs mean, and when that is known.
#include <algorithm>
#include <functional>
#include <utility>

#include "policies/launcher/core.hpp"
#include "policies/model/millisecond.hpp"

namespace tidegate::policies {

namespace {

// How long a status may take that tells whether a worker that has ended was done.
constexpr std::int64_t judge_after_max = 1000 * millisecond;
// A job that fails because a process died is told apart by waiting for the news of the death.
constexpr std::int64_t failure_settle = 150 * millisecond;
// From the exit of a job's last worker to the coordinator's word that the job is done.
constexpr std::int64_t done_lag_max = 5000 * millisecond;

}  // namespace

std::int64_t launch_core::ripe_at(const unjudged& end) const {
  using ending = process_exit::ending;
  if (role_of(end.process) != process_role::worker)
    return end.exit.kind == ending::by_signal ? end.at : end.at + failure_settle;
  const auto* status = job(plan_.processes[end.process].job);
  // Of a job that has failed: perhaps because a shard has died, which is not known yet.
  if (plan_.goes_back && status != nullptr && status->state == job_state::failed)
    return end.at + failure_settle;
  // When all jobs are done, nothing that the coordinator could say makes a difference, and it
  // may not come back.
  if (away_) return all_done() ? end.at : never;
  return answered_ >= end.poll ? end.at : end.at + judge_after_max;
}

// By the states of the jobs after the end. Nodes are expected to live until they are told to
// stop.
launch_core::verdict launch_core::judge(const unjudged& end) const {
  const auto& name = plan_.processes[end.process];
  const auto* of_job = job(name.job);
  if (name.role == process_role::aggregator && of_job != nullptr &&
      of_job->state == job_state::done)
    return verdict::after_its_job;
  if (name.role != process_role::worker) return verdict::process_died;
  if (end.exit.kind == process_exit::ending::clean) return verdict::as_expected;
  const auto* status = job(name.job);
  const auto state = status == nullptr ? job_state::waiting : status->state;
  const bool had_finished =
      status != nullptr &&
      std::find(status->ranks_finished.begin(), status->ranks_finished.end(), name.index) !=
          status->ranks_finished.end();
  if (state == job_state::done || had_finished) return verdict::after_its_job;
  // A signal is never a worker's own word, even where its death has failed the job meanwhile.
  const bool by_signal = end.exit.kind == process_exit::ending::by_signal;
  if (state == job_state::failed && !by_signal) return verdict::job_failed;
  return verdict::process_died;
}

void launch_core::judge_ends(std::int64_t now, launch_effects& out) {
  if (!is_watching()) return;
  const auto is_ripe = [&](const unjudged& end) { return now >= ripe_at(end); };
  auto ripe = unjudged_;
  std::erase_if(ripe, std::not_fn(is_ripe));
  std::erase_if(unjudged_, is_ripe);
  // A death explains failures that came of it, so deaths come first, and those by a signal
  // before those by a status: a process that lost its coordinator may be reaped before the
  // coordinator. One that nobody comes back from explains all others.
  for (const bool may_come_back : {false, true})
    for (const bool by_signal : {true, false})
      for (const auto& end : ripe)
        if (is_watching() && (end.exit.kind == process_exit::ending::by_signal) == by_signal &&
            judge(end) == verdict::process_died && comes_back(end.process) == may_come_back) {
          if (watches_ && (is_surplus(end.process) || others_go_on(end.process)))
            do_without(end, out);
          else
            bury(end, now, out);
        }
  for (const auto& end : ripe) {
    const auto judged = judge(end);
    if (judged == verdict::after_its_job && is_watching())
      out.all.emplace_back(
          launch_effects::complain{"warning: " + end.exit.text + ", after it had finished"});
    else if (judged == verdict::job_failed)
      failure_seen_at_ = std::min(failure_seen_at_, now);
  }
}

bool launch_core::comes_back(process_number process) const {
  const auto& name = plan_.processes[process];
  // At the end it is there for workers that have not heard that they are done.
  if (name.role == process_role::coordinator)
    return phase_ <= phase::running || (phase_ == phase::leaving && any_worker_alive());
  const auto* status = job(name.job);
  const bool goes_on = status == nullptr || status->state == job_state::waiting ||
                       status->state == job_state::running;
  if (serves_shard(name.role)) return plan_.replicated;
  if (name.role == process_role::aggregator) return goes_on;
  // One that its job does not let go is needed, whatever the rule.
  return name.role == process_role::worker && goes_on &&
         (workers_come_back(rule_of(process)) || is_surplus(process));
}

worker_loss_rule launch_core::rule_of(process_number process) const {
  const auto& name = plan_.processes[process];
  const auto of = std::find_if(plan_.jobs.begin(), plan_.jobs.end(),
                               [&](const auto& job) { return job.name == name.job; });
  return of == plan_.jobs.end() ? worker_loss_rule::fail : of->on_worker_loss;
}

// Under shrink: as far as is known here, somebody else of its job has not finished.
bool launch_core::others_go_on(process_number process) const {
  using state = process_state;
  const auto& name = plan_.processes[process];
  if (name.role != process_role::worker || rule_of(process) != worker_loss_rule::shrink)
    return false;
  const auto* of = job(name.job);
  for (process_number i = 0; i < processes_.size(); ++i) {
    const auto& other = plan_.processes[i];
    const bool lives = processes_[i] == state::alive || processes_[i] == state::starting ||
                       processes_[i] == state::resting || processes_[i] == state::waiting;
    if (i == process || !lives || other.role != name.role || other.job != name.job) continue;
    if (of == nullptr || std::find(of->ranks_finished.begin(), of->ranks_finished.end(),
                                   other.index) == of->ranks_finished.end())
      return true;
  }
  return false;
}

void launch_core::do_without(const unjudged& end, launch_effects& out) {
  processes_[end.process] = process_state::leaving;
  out.all.emplace_back(launch_effects::note{"process_died", end.exit.text});
  out.all.emplace_back(launch_effects::complain{"tidegate: " + end.exit.text + "; job " +
                                                plan_.processes[end.process].job +
                                                " goes on without it"});
  out.all.emplace_back(launch_effects::leave{end.process});
}

// Whether it may come back once more.
bool launch_core::rest_or_not(const unjudged& end, launch_effects& out) {
  const auto process = end.process;
  if (!may_start_again(end)) return false;
  const auto pause = intensity_[process].died(end.at, limits_of(role_of(process)));
  if (!pause) return false;
  if (serves_shard(role_of(process))) last_shard_death_ = process;
  const auto incarnation = ++incarnations_[process];
  processes_[process] = process_state::resting;
  resting_.push_back({process, end.at + *pause});
  out.all.emplace_back(launch_effects::note{"process_died", end.exit.text});
  out.all.emplace_back(launch_effects::complain{
      "tidegate: " + end.exit.text + "; it is started again" +
      (*pause > 0 ? " in " + std::to_string(*pause / millisecond) + " ms" : "") +
      " (incarnation " + std::to_string(incarnation) + ")"});
  return true;
}

void launch_core::left(std::int64_t now, process_number process, const runtime::status& result,
                       launch_effects& out) {
  if (processes_[process] != process_state::leaving) return;  // everything has ended since
  processes_[process] = process_state::gone;
  const auto name = plan_.processes[process].to_string();
  if (result.ok()) {
    processes_[process] = process_state::unused;
    out.all.emplace_back(launch_effects::note{"process_left", name});
    return;
  }
  const auto* of = job(plan_.processes[process].job);
  const bool over =
      result.code() == runtime::errc::cancelled ||
      (of != nullptr && (of->state == job_state::done || of->state == job_state::failed));
  if (!is_watching() || over) return;
  bury({process,
        {process_exit::ending::by_signal, name + " cannot leave: " + result.message()},
        now,
        0},
       now, out);
}

// A process has died: it comes back, or the run ends.
void launch_core::bury(const unjudged& end, std::int64_t now, launch_effects& out) {
  const auto process = end.process;
  const auto& limits = limits_of(role_of(process));
  std::string why = end.exit.text;
  // What a coordinator says before it listens is about its machine, and would be said again.
  const bool cannot_begin =
      phase_ == phase::starting && end.exit.kind != process_exit::ending::by_signal;
  const bool alone = comes_back(process) && !cannot_begin;
  if (alone && rest_or_not(end, out)) return;
  if (role_of(process) != process_role::worker && all_done()) {
    out.all.emplace_back(
        launch_effects::complain{"warning: " + why + ", after all jobs were done"});
    return;
  }
  if (plan_.goes_back && role_of(process) != process_role::worker) {
    // A coordinator that dies again and again may do so because of its journal: in another
    // epoch it begins without one.
    auto& goings_back = alone ? goings_back_ : intensity_[process];
    if (const auto pause = goings_back.died(end.at, limits)) {
      if (alone) intensity_[process] = {};
      back_at_ = end.at + *pause;
      return clear(why, out);
    }
  }
  if (starts_[process].failures > unjoined_restarts_max)
    why += "; it has failed " + std::to_string(starts_[process].failures) +
           " times before it joined the run, and would fail again";
  else if (intensity_[process].recent_deaths() > 0)
    why += "; it has died " + std::to_string(intensity_[process].recent_deaths()) +
           " times within " + std::to_string(limits.within_ms) + " ms (supervision." +
           std::string(to_string(role_of(process))) + ".max_restarts)";
  begin_end(now, run_outcome::process_died, why, out);
  out.all.emplace_back(launch_effects::show_log{process});
}

// Those who have what was acknowledged died together, or the one before the other had it.
void launch_core::lost(std::int64_t now, const std::string& why, launch_effects& out) {
  if (all_done()) return;
  const auto process = last_shard_death_;
  if (plan_.goes_back) {
    back_at_ = now;
    return clear(why, out);
  }
  begin_end(now, run_outcome::process_died, why, out);
  out.all.emplace_back(launch_effects::show_log{process});
}

void launch_core::start_again(std::int64_t now, launch_effects& out) {
  if (!is_watching()) return;
  for (const auto& resting : std::exchange(resting_, {})) {
    if (resting.until > now) {
      resting_.push_back(resting);
    } else if (comes_back(resting.process)) {
      processes_[resting.process] = process_state::starting;
      out.all.emplace_back(
          launch_effects::start{resting.process, incarnations_[resting.process], plan_.epoch});
    } else {
      processes_[resting.process] = process_state::gone;  // its job has ended meanwhile
    }
  }
}

std::uint32_t launch_core::workers_gone(const launch_plan::job& job) const {
  std::uint32_t count = 0;
  for (process_number i = 0; i < processes_.size(); ++i)
    if (processes_[i] == process_state::gone && role_of(i) == process_role::worker &&
        plan_.processes[i].job == job.name &&
        std::none_of(unjudged_.begin(), unjudged_.end(),
                     [&](const unjudged& end) { return end.process == i; }))
      ++count;
  return count;
}

void launch_core::check_jobs(std::int64_t now, launch_effects& out) {
  if (!is_watching() || !watches_) return;
  const auto* failed = first_failed();
  if (failed == nullptr) {
    check_workers(now, out);
    return;
  }
  failure_seen_at_ = std::min(failure_seen_at_, now);
  if (unjudged_.empty() && now >= failure_seen_at_ + failure_settle)
    begin_end(now, run_outcome::job_failed,
              "job " + failed->name + " failed: " + failed->failure, out);
}

// A coordinator that has not answered since the last worker exited may know of more.
void launch_core::check_workers(std::int64_t now, launch_effects& out) {
  if (away_ || !healthy_ || answered_ < polls_) {
    workers_gone_at_ = never;
    return;
  }
  bool left_alone = false;
  for (const auto& planned : plan_.jobs) {
    const auto* status = job(planned.name);
    if (status == nullptr || status->state == job_state::done) continue;
    const auto gone = workers_gone(planned);
    const bool here = gone > status->workers_finished;
    left_alone = left_alone || here;
    if (here && workers_gone_at_ != never && now >= workers_gone_at_ + done_lag_max) {
      begin_end(now, run_outcome::job_failed,
                "job " + planned.name + " failed: " + std::to_string(gone) +
                    " of its workers have exited, but only " +
                    std::to_string(status->workers_finished) +
                    " have finished; did they call finish()?",
                out);
      return;
    }
    if (workers_missing(planned) && now >= phase_since_ + start_timeout_) {
      begin_end(now, run_outcome::job_failed,
                "job " + planned.name + " failed: " + std::to_string(status->workers_joined) +
                    " of " + std::to_string(planned.workers) + " workers joined within " +
                    plan_.start_timeout_text + " (cluster.start_timeout)",
                out);
      return;
    }
  }
  if (!left_alone) workers_gone_at_ = never;
  if (left_alone) workers_gone_at_ = std::min(workers_gone_at_, now);
}

std::int64_t launch_core::next_wake() const {
  auto at = std::min({terminate_at_, kill_at_, save_until_});
  const auto earlier = [&](std::int64_t other) { at = std::min(at, other); };
  if (phase_ == phase::clearing && alive().empty()) earlier(back_at_);
  if (!is_watching()) return at;
  for (const auto& end : unjudged_) earlier(ripe_at(end));
  for (const auto& resting : resting_) earlier(resting.until);
  for (process_number i = 0; i < processes_.size(); ++i) earlier(join_deadline(i));
  for (const auto& entry : unwanted_) earlier(entry.until);
  if (!watches_) {
    earlier(phase_since_ + start_timeout_);
  } else if (first_failed() != nullptr) {
    if (unjudged_.empty() && failure_seen_at_ != never)
      earlier(failure_seen_at_ + failure_settle);
  } else if (!away_ && healthy_ && answered_ >= polls_) {
    if (workers_gone_at_ != never) earlier(workers_gone_at_ + done_lag_max);
    for (const auto& job : plan_.jobs)
      if (workers_missing(job)) earlier(phase_since_ + start_timeout_);
  }
  return at;
}

bool launch_core::workers_missing(const launch_plan::job& planned) const {
  const auto* status = job(planned.name);
  return status != nullptr && status->state == job_state::waiting &&
         status->workers_joined < planned.workers;
}

bool launch_core::all_done() const {
  return !jobs_.empty() && std::all_of(jobs_.begin(), jobs_.end(), [](const auto& j) {
    return j.state == job_state::done;
  });
}

const job_status* launch_core::first_failed() const {
  const auto at = std::find_if(jobs_.begin(), jobs_.end(),
                               [](const auto& j) { return j.state == job_state::failed; });
  return at == jobs_.end() ? nullptr : &*at;
}

}  // namespace tidegate::policies
