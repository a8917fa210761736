#include "policies/launcher/core.hpp"

#include <algorithm>
#include <utility>

#include "policies/launcher/state.hpp"

namespace tidegate::policies {

using launching::run_phase;

launch_core::launch_core(launch_plan plan)
    : state_(std::make_unique<launching::launcher_state>(std::move(plan))) {}
launch_core::~launch_core() = default;
launch_core::launch_core(launch_core&& other) noexcept = default;
launch_core& launch_core::operator=(launch_core&& other) noexcept = default;

void launch_core::begin(std::int64_t now, launch_effects& out) {
  state_->lifecycle.begin(now, out);
}

void launch_core::started(std::int64_t now, process_number process, launch_effects& out) {
  state_->processes.started(process);
  state_->joins.started(now, process);
  state_->lifecycle.started(now, process, out);
}

void launch_core::could_not_start(std::int64_t now, process_number process,
                                  const std::string& why, launch_effects& out) {
  state_->restarts.could_not_start(now, process, why, out);
}

void launch_core::host_up(host_number host, launch_effects& out) {
  state_->survey.up(host, out);
}

void launch_core::host_copies(std::int64_t now) {
  if (state_->lifecycle.is(run_phase::starting)) state_->lifecycle.allow_time_anew(now);
  state_->restarts.allow_time_anew(now);
}

void launch_core::host_down(std::int64_t now, host_number host, const std::string& why,
                            launch_effects& out) {
  state_->survey.down(host);
  state_->hosts.down(now, host, why, out);
}

void launch_core::host_surveyed(host_number host, const agent_reports::surveyed& news) {
  state_->survey.told(host, news);
}

void launch_core::host_stays_down(host_number host, const std::string& why) {
  state_->hosts.stays_down(host, why);
}

void launch_core::renewed(std::int64_t now, const runtime::status& result,
                          launch_effects& out) {
  state_->rollbacks.renewed(now, result, out);
}

void launch_core::coordinator_ready(std::int64_t now, launch_effects& out) {
  state_->lifecycle.coordinator_ready(now, out);
}

void launch_core::coordinator_unusable(std::int64_t now, const std::string& why,
                                       launch_effects& out) {
  state_->lifecycle.coordinator_unusable(now, why, out);
}

void launch_core::polled(std::int64_t now, const coordinator_news& news, launch_effects& out) {
  state_->coordinator.polled(now, news, out);
}

void launch_core::unreachable(std::int64_t now, const runtime::status& why,
                              launch_effects& out) {
  state_->coordinator.unreachable(now, why, out);
}

void launch_core::interrupted(std::int64_t now, const std::string& by, bool saves,
                              launch_effects& out) {
  state_->lifecycle.interrupted(now, by, saves, out);
}

runtime::status launch_core::cancel(const std::string& job, const std::string& by,
                                    launch_effects& out) {
  using runtime::errc;
  const auto* status = state_->jobs.find(job);
  if (status == nullptr) return {errc::not_found, "no job '" + job + "' in this run"};
  if (!state_->lifecycle.is(run_phase::running))
    return {errc::unavailable,
            "jobs do not run: they are being started, go back to their checkpoints, or end"};
  if (launching::has_ended(*status) || state_->endings.has(job))
    return {errc::cancelled, "job " + job + " has ended"};
  state_->endings.cancel(job, "job " + job + " was cancelled by " + by, out);
  return {};
}

void launch_core::ended(std::int64_t now, process_number process, process_exit exit) {
  state_->exits.ended(now, process, std::move(exit));
}

void launch_core::spare_ready(spare_number spare, bool can_copy) {
  state_->spares.ready(spare, can_copy);
}

void launch_core::spare_ended(std::int64_t now, spare_number spare, const std::string& why,
                              launch_effects& out) {
  state_->spares.ended(now, spare, why, out);
}

void launch_core::left(std::int64_t now, process_number process, const runtime::status& result,
                       launch_effects& out) {
  state_->exits.left(now, process, result, out);
}

bool launch_core::scale(const std::string& job, std::uint32_t workers, launch_effects& out) {
  return state_->scaling.scale(job, workers, out);
}

bool launch_core::may_scale(const std::string& job) const {
  return state_->scaling.may_scale(job);
}

bool launch_core::scale_shards(std::uint32_t slots, launch_effects& out) {
  return state_->scaling.scale_shards(slots, out);
}

bool launch_core::may_scale_shards() const {
  return state_->scaling.may_scale_shards();
}

const std::vector<process_name>& launch_core::processes() const noexcept {
  return state_->processes.names();
}

host_number launch_core::host_of(process_number process) const {
  return state_->hosts.host_of(process);
}

std::vector<process_number> launch_core::processes_on(host_number host) const {
  return state_->hosts.processes_on(host);
}

std::uint32_t launch_core::incarnation(process_number process) const {
  return state_->processes.incarnation(process);
}

void launch_core::hangs(process_number process, std::int64_t silent_ns, launch_effects& out) {
  state_->processes.hangs(process, silent_ns, out);
}

void launch_core::condemned(const condemned_process& sentence, launch_effects& out) {
  state_->processes.condemned(sentence, out);
}

void launch_core::decide(std::int64_t now, launch_effects& out) {
  state_->coordinator.poll_if_wanted(out);
  if (state_->coordinator.take_return() && state_->lifecycle.is(run_phase::running)) {
    state_->lifecycle.allow_time_anew(now);
    state_->saving.ask_again(out);
  }
  state_->scaling.go_on(now, out);
  state_->exits.judge(now, out);
  state_->survey.go_on(now, out);
  state_->restarts.start_rested(now, out);
  state_->hosts.check(now, out);
  state_->job_checks.check(now, out);
  state_->endings.check(now, out);
  state_->joins.check(now, out);
  state_->saving.check(now, out);
  state_->rollbacks.go_on(now, out);
  state_->lifecycle.advance(now, out);
  state_->spares.go_on(now, out);
  state_->lifecycle.conclude_if_over(out);
}

std::int64_t launch_core::next_wake() const {
  const auto at = std::min({state_->lifecycle.next_wake(), state_->saving.next_wake(),
                            state_->rollbacks.next_wake()});
  if (!state_->lifecycle.is_active()) return at;
  return std::min({at, state_->exits.next_wake(), state_->restarts.next_wake(),
                   state_->hosts.next_wake(), state_->survey.next_wake(),
                   state_->joins.next_wake(), state_->scaling.next_wake(),
                   state_->job_checks.next_wake(), state_->endings.next_wake(),
                   state_->spares.next_wake()});
}

bool launch_core::is_running() const {
  return state_->lifecycle.is(run_phase::running) || state_->lifecycle.is(run_phase::leaving);
}

bool launch_core::is_ending() const {
  return state_->lifecycle.is(run_phase::leaving) || state_->lifecycle.is(run_phase::ending) ||
         state_->saving.is_awaited();
}

std::string_view launch_core::phase_text() const {
  if (is_running()) return "running";
  if (state_->lifecycle.is(run_phase::starting)) return "starting";
  return state_->lifecycle.is(run_phase::clearing) ? "going back" : "ending";
}

std::uint32_t launch_core::epoch() const noexcept {
  return state_->rollbacks.epoch();
}

const job_status* launch_core::job(const std::string& name) const {
  return state_->jobs.find(name);
}

std::uint32_t launch_core::workers_alive(const std::string& job) const {
  return state_->processes.workers_alive(job);
}

std::vector<job_status> launch_core::result() const {
  return state_->lifecycle.result();
}

bool launch_core::is_interrupted() const {
  return state_->lifecycle.is_interrupted();
}

run_outcome launch_core::outcome() const {
  return state_->lifecycle.outcome();
}

}  // namespace tidegate::policies
