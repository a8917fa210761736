#include "launch/verdict.hpp"

#include <algorithm>
#include <string.h>

namespace tidegate::launch {

using policies::job_state;

std::string to_string(const process_end& end) {
  std::string text(to_string(end.name.role));
  text += " " + std::to_string(end.name.index);
  if (!end.name.job.empty()) text += " of job " + end.name.job;
  text += " (pid " + std::to_string(end.pid) + ")";
  if (!end.by_signal) return text + " exited with status " + std::to_string(end.code);
  const char* name = ::sigabbrev_np(end.code);
  return text + " was killed by " +
         (name == nullptr ? "signal " + std::to_string(end.code) : "SIG" + std::string(name));
}

verdict judge(const process_end& end, const std::vector<policies::job_status>& jobs) {
  if (end.name.role != process_role::worker) return verdict::process_died;
  if (end.clean()) return verdict::as_expected;
  const auto* job = find_job(jobs, end.name.job);
  const auto state = job == nullptr ? job_state::waiting : job->state;
  if (state == job_state::done) return verdict::after_its_job;
  // A signal is never a worker's own word, even where its death has failed the job meanwhile.
  if (state == job_state::failed && !end.by_signal) return verdict::job_failed;
  return verdict::process_died;
}

const policies::job_status* find_job(const std::vector<policies::job_status>& jobs,
                                     const std::string& name) {
  const auto at =
      std::find_if(jobs.begin(), jobs.end(), [&](const auto& j) { return j.name == name; });
  return at == jobs.end() ? nullptr : &*at;
}

bool all_done(const std::vector<policies::job_status>& jobs) {
  return !jobs.empty() && std::all_of(jobs.begin(), jobs.end(),
                                      [](const auto& j) { return j.state == job_state::done; });
}

const policies::job_status* first_failed(const std::vector<policies::job_status>& jobs) {
  const auto at = std::find_if(jobs.begin(), jobs.end(),
                               [](const auto& j) { return j.state == job_state::failed; });
  return at == jobs.end() ? nullptr : &*at;
}

}  // namespace tidegate::launch
