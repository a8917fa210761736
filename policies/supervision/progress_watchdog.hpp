// Tells of jobs that make no progress. A job stands still while nothing in its status changes
// that work changes; how long that may last is learned from the job: at least four seconds, and
// three times its second longest pause so far while it ran. The longest may have been an
// outage; what is usual in a job happens more than once. A standstill is told once, and again
// each time that it has lasted twice as long. One thread; time is an argument, in nanoseconds.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "policies/model/cluster_status.hpp"
#include "policies/model/millisecond.hpp"

namespace tidegate::policies {

class progress_watchdog {
 public:
  static constexpr std::int64_t limit_ns = 4000 * millisecond;
  static constexpr int pauses = 3;  // the limit of a job, in its usual pauses

  struct standstill {
    std::string job;
    std::int64_t for_ns = 0;
  };

  // Takes in the latest statuses of jobs, which may be those of the look before. Returns the
  // standstills to report now.
  std::vector<standstill> look(std::int64_t now, std::span<const job_status> jobs);

 private:
  struct state {
    std::vector<std::uint64_t> marks;  // what work changes
    std::int64_t since = 0;
    std::int64_t longest = 0;
    std::int64_t usual = 0;    // the second longest pause
    std::int64_t told_at = 0;  // how long the standstill is when it is told next
    bool is_running = false;

    void learn(std::int64_t pause);
  };
  std::map<std::string, state> jobs_;
};

}  // namespace tidegate::policies
