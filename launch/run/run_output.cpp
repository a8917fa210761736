#include "launch/run/run_output.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <unistd.h>

#include "launch/plan/environment.hpp"
#include "launch/plan/run_paths.hpp"
#include "launch/processes/leftovers.hpp"
#include "launch/processes/process_records.hpp"
#include "launch/processes/spawn.hpp"
#include "launch/run/last_line.hpp"
#include "launch/run/result.hpp"
#include "launch/run/resume.hpp"
#include "launch/run/run_screen.hpp"
#include "launch/screen/ansi_text.hpp"
#include "launch/text/progress_text.hpp"

namespace tidegate::launch {

using policies::job_state;

namespace {

constexpr std::size_t log_lines_shown = 10;
constexpr std::int64_t pause_of_screen_ns = 500'000'000;

exit_code to_exit_code(policies::run_outcome outcome) {
  switch (outcome) {
    case policies::run_outcome::done:
      return exit_code::done;
    case policies::run_outcome::job_failed:
      return exit_code::job_failed;
    case policies::run_outcome::process_died:
      return exit_code::process_died;
  }
  return exit_code::job_failed;
}

// Of a job that is done.
std::size_t exiting_workers(const policies::launch_core& core, const std::string& job) {
  const auto* status = core.job(job);
  return status != nullptr && status->state == job_state::done ? core.workers_alive(job) : 0;
}

std::string exiting_text(std::size_t workers) {
  return std::to_string(workers) + (workers == 1 ? " worker" : " workers") + " still exiting";
}

}  // namespace

runtime::status run_output::follow_workers() {
  auto follower = log_follower::in(journal_.folder().path() + "/logs");
  if (!follower) return follower.error();
  follower_ = std::move(*follower);
  return {};
}

void run_output::starting(const process_name& process) {
  const auto writer = process.to_string();
  std::error_code none_yet;
  const auto size =
      std::filesystem::file_size(log_path(journal_.folder().path(), writer), none_yet);
  log_begins_[writer] = none_yet ? 0 : size;
  if (!follower_ || process.role != policies::process_role::worker) return;
  const auto rank = std::to_string(process.index);
  follower_->follow(log_path(journal_.folder().path(), writer),
                    spec_.jobs.size() > 1 ? process.job + "/" + rank : rank);
}

void run_output::add_to(std::vector<pollfd>& fds) const {
  if (may_follow()) fds.push_back({.fd = follower_->fd(), .events = POLLIN, .revents = 0});
}

// Logs keep what a reader of the output is not ready for.
bool run_output::may_follow() const {
  return follower_ && !journal_.screen().is_behind();
}

void run_output::show_followed(std::vector<std::string> lines) {
  std::string text;
  for (const auto& line : lines) text += line + "\n";
  if (!text.empty()) journal_.screen().print(text);
}

void run_output::write_launcher(std::uint64_t token) {
  constexpr mode_t private_file = 0600;
  const auto mark = own_mark_as_launcher(format_token(token));
  (void)journal_.write("launcher.json", launcher_json(mark), private_file);
}

void run_output::show(std::int64_t now, const policies::launch_core& core,
                      const run_metrics& metrics, const std::function<run_view()>& view) {
  if (may_follow()) show_followed(follower_->take_lines());
  if (!core.is_running()) return;
  std::vector<std::pair<job_state, std::uint32_t>> states;
  for (const auto& job : spec_.jobs)
    if (const auto* status = core.job(job.name))
      states.emplace_back(status->state, status->workers_joined);
  const bool changed = states != shown_states_;
  shown_states_ = std::move(states);
  auto& screen = journal_.screen();
  const terminal_size size{.columns = screen.width(), .rows = screen.height()};
  if (!has_room_for_screen(size))
    return screen.live(job_lines(core, metrics, size.columns), changed, now / 1'000'000);
  if (!changed && now < drawn_at_ + pause_of_screen_ns) return;
  drawn_at_ = now;
  auto lines = screen_lines(view(), metrics, size, wants_color());
  for (const auto& job : spec_.jobs)
    if (const auto left = exiting_workers(core, job.name); left > 0)
      lines.push_back("job " + job.name + " is done; " + exiting_text(left));
  screen.live(lines, changed, now / 1'000'000);
}

std::vector<std::string> run_output::job_lines(const policies::launch_core& core,
                                               const run_metrics& metrics,
                                               std::size_t width) const {
  std::vector<std::string> lines;
  for (const auto& job : spec_.jobs) {
    const auto* status = core.job(job.name);
    if (status == nullptr) continue;
    const auto workers = status->workers > 0 ? status->workers : job.workers;
    auto line = progress_line(*status, workers, metrics.rates(job.name), width);
    if (const auto left = exiting_workers(core, job.name); left > 0)
      line += "  (" + exiting_text(left) + ")";
    if (width != 0 && line.size() >= width) line.resize(width - 1);
    lines.push_back(std::move(line));
  }
  if (!waits_.empty()) {
    auto line = wait_text(waits_);
    if (width != 0 && line.size() >= width) line.resize(width - 1);
    lines.push_back(std::move(line));
  }
  return lines;
}

void run_output::show_log(const std::string& writer) {
  const auto log = log_path(journal_.folder().path(), writer);
  const auto lines = last_lines(log, log_lines_shown);
  journal_.complain(lines.empty() ? "its log is empty: " + log
                                  : "the end of its log, " + log + ":\n" + lines);
}

std::string run_output::last_line(const std::string& writer) const {
  const auto begin = log_begins_.find(writer);
  return last_line_in(log_path(journal_.folder().path(), writer),
                      begin == log_begins_.end() ? 0 : begin->second);
}

void run_output::append_log(const std::string& writer, const std::string& text) {
  // An agent names none of another folder.
  if (writer.empty() || writer.front() == '.' || writer.find('/') != std::string::npos) return;
  const auto log = open_log(log_path(journal_.folder().path(), writer));
  std::size_t at = 0;
  while (log && at < text.size()) {
    const auto written = ::write(log->get(), text.data() + at, text.size() - at);
    if (written <= 0) return;  // a disk that is full is told where the run folder is written
    at += static_cast<std::size_t>(written);
  }
}

// While the coordinator does not answer, what it told before says nothing, and the launcher
// tells the wait itself.
void run_output::look_at_waits(std::int64_t now, const policies::launch_core& core,
                               const runtime::status& coordinator,
                               std::vector<policies::wait_status> waits) {
  std::vector<policies::wait_ledger::wait> found;
  if (core.is_running() && !coordinator.ok())
    found.push_back({.waiter = "launcher-0", .awaited = "an answer of coordinator-0"});
  for (const auto& wait : own_waits_.look(now, found))
    journal_.event("waits", wait.waiter + " has waited " +
                                duration_text(static_cast<double>(wait.for_ns) * 1e-9) +
                                " for " + wait.awaited);
  waits_ = coordinator.ok() ? std::move(waits) : own_waits_.reported(now);
}

void run_output::watch_progress(std::int64_t now, const policies::launch_core& core) {
  if (!core.is_running()) return;
  std::vector<policies::job_status> jobs;
  for (const auto& job : spec_.jobs)
    if (const auto* status = core.job(job.name)) jobs.push_back(*status);
  for (const auto& stand : watchdog_.look(now, jobs))
    journal_.event("no_progress", "job " + stand.job + " for " +
                                      duration_text(static_cast<double>(stand.for_ns) * 1e-9) +
                                      (waits_.empty() ? "" : ": " + wait_text(waits_)));
}

// A job that was interrupted need not begin anew.
bool run_output::may_be_resumed(const std::vector<policies::job_status>& jobs) const {
  return std::any_of(jobs.begin(), jobs.end(), [&](const auto& job) {
    const auto* spec = spec_.find_job(job.name);
    return job.state == job_state::interrupted && spec != nullptr &&
           has_checkpoint(*spec, journal_.folder().path());
  });
}

exit_code run_output::conclude(const policies::launch_core& core) {
  auto outcome = to_exit_code(core.outcome());
  if (outcome == exit_code::done && journal_.write_failed()) outcome = exit_code::job_failed;
  const auto jobs = core.result();
  const auto code = static_cast<int>(outcome);
  journal_.event("run_ended", "exit code " + std::to_string(code));
  (void)journal_.write("result.json", result_json(spec_.name, jobs, code));
  journal_.screen().end_live();
  if (follower_) show_followed(follower_->take_rest());
  journal_.screen().print("\n" + result_table(jobs));
  if (outcome == exit_code::process_died || (core.is_interrupted() && may_be_resumed(jobs)))
    journal_.complain("go on with it: tidegate launch --resume " + journal_.folder().shown());
  return journal_.write_failed() && outcome == exit_code::done ? exit_code::job_failed
                                                               : outcome;
}

}  // namespace tidegate::launch
