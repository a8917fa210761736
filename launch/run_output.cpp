// What a run shows and leaves behind.
#include "launch/progress_text.hpp"
#include "launch/run.hpp"

namespace tidegate::launch {

using policies::job_state;

void run::write_pids() {
  journal_.write("pids.json", pids_json(table_.list()));
}

void run::show() {
  if (!is_watching() || phase_ == phase::starting) return;
  auto& screen = journal_.screen();
  const auto width = screen.width();
  std::vector<std::string> lines;
  std::vector<std::pair<job_state, std::uint32_t>> states;
  for (const auto& job : spec_.jobs) {
    const auto* status = find_job(jobs_, job.name);
    if (status == nullptr) continue;
    auto line = progress_line(*status, job.workers, width);
    const auto left = table_.workers_of(job.name);
    if (status->state == job_state::done && left != 0) {
      line += "  (" + std::to_string(left) + (left == 1 ? " worker" : " workers") +
              " still exiting)";
    }
    if (width != 0 && line.size() >= width) line.resize(width - 1);
    lines.push_back(std::move(line));
    states.emplace_back(status->state, status->workers_joined);
  }
  screen.live(lines, states != shown_states_, now_ms_);
  shown_states_ = std::move(states);
}

exit_code run::conclude() {
  on_news();  // the last poll, made when the end was ordered
  for (auto& job : jobs_) {
    if (job.state == job_state::done || job.state == job_state::failed) continue;
    job.state = job_state::failed;
    job.failure = reason_;
  }
  if (outcome_ == exit_code::done && journal_.write_failed()) outcome_ = exit_code::job_failed;
  const auto code = static_cast<int>(outcome_);
  journal_.event("run_ended", "exit code " + std::to_string(code));
  journal_.write("result.json", result_json(spec_.name, jobs_, code));
  journal_.screen().end_live();
  journal_.screen().print("\n" + result_table(jobs_));
  return journal_.write_failed() && outcome_ == exit_code::done ? exit_code::job_failed
                                                                : outcome_;
}

}  // namespace tidegate::launch
