// What the coordinator has said last of each job.
#pragma once

#include <string>
#include <vector>

#include "policies/launcher/plan.hpp"
#include "policies/model/cluster_status.hpp"

namespace tidegate::policies::launching {

inline bool has_ended(const job_status& job) {
  return job.state == job_state::done || job.state == job_state::failed;
}

class job_statuses {
 public:
  // Begins with all jobs of the plan waiting.
  explicit job_statuses(const launch_plan& plan);

  // Takes in the statuses of a poll; an empty vector changes nothing.
  void learn(const std::vector<job_status>& news);
  // Forgets all but the names and policies of jobs: they wait again.
  void begin_anew();

  const std::vector<job_status>& all() const { return jobs_; }
  // Returns a job, or null if no job has this name. Valid until learn(), begin_anew().
  const job_status* find(const std::string& name) const;
  bool all_done() const;

 private:
  std::vector<job_status> jobs_;
};

}  // namespace tidegate::policies::launching
