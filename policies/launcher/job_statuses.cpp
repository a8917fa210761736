#include "policies/launcher/job_statuses.hpp"

#include <algorithm>
#include <utility>

namespace tidegate::policies::launching {

job_statuses::job_statuses(const launch_plan& plan) {
  for (const auto& planned : plan.jobs) {
    auto& job = jobs_.emplace_back();
    job.name = planned.name;
    job.policy = planned.policy;
  }
}

void job_statuses::learn(const std::vector<job_status>& news) {
  if (!news.empty()) jobs_ = news;
}

void job_statuses::begin_anew() {
  for (auto& job : jobs_) {
    auto fresh = job_status();
    fresh.name = job.name;
    fresh.policy = job.policy;
    job = std::move(fresh);
  }
}

const job_status* job_statuses::find(const std::string& name) const {
  const auto at = std::find_if(jobs_.begin(), jobs_.end(),
                               [&](const auto& job) { return job.name == name; });
  return at == jobs_.end() ? nullptr : &*at;
}

bool job_statuses::all_done() const {
  return !jobs_.empty() && std::all_of(jobs_.begin(), jobs_.end(), [](const auto& job) {
    return job.state == job_state::done;
  });
}

}  // namespace tidegate::policies::launching
