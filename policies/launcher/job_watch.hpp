// Jobs that can be seen to have failed: the coordinator says so, workers do not join in time,
// or workers have exited without having finished.
#pragma once

#include <algorithm>
#include <cstdint>

#include "policies/launcher/effects.hpp"
#include "policies/launcher/plan.hpp"
#include "policies/launcher/wake_time.hpp"

namespace tidegate::policies::launching {

struct launcher_state;

class job_watch {
 public:
  explicit job_watch(launcher_state& state) : state_(state) {}

  // Takes in that a worker has ended as workers do whose job has failed.
  void failure_seen(std::int64_t now) { failure_seen_at_ = std::min(failure_seen_at_, now); }
  // Ends a job that has failed, if no death explains that.
  void check(std::int64_t now, launch_effects& out);
  // Forgets what it has seen, because all jobs go back.
  void forget() { failure_seen_at_ = workers_gone_at_ = never; }

  std::int64_t next_wake() const;

 private:
  void check_workers(std::int64_t now, launch_effects& out);
  std::uint32_t workers_gone(const launch_plan::job& job) const;
  bool workers_missing(const launch_plan::job& job) const;

  launcher_state& state_;
  std::int64_t failure_seen_at_ = never;  // the first
  std::int64_t workers_gone_at_ = never;  // while a job that is not done lacks workers
};

}  // namespace tidegate::policies::launching
