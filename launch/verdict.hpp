// What the end of a process means for the run. Pure, any thread.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

#include "launch/plan.hpp"
#include "policies/cluster_status.hpp"

namespace tidegate::launch {

struct process_end {
  process_name name;
  pid_t pid = -1;
  bool by_signal = false;
  int code = 0;  // exit status, or the signal's number

  bool clean() const noexcept { return !by_signal && code == 0; }
};

// "worker 2 of job mlp (pid 4711) was killed by SIGKILL", "shard 0 (pid 12) exited with status
// 1"
std::string to_string(const process_end& end);

enum class verdict {
  as_expected,    // a worker that is done
  after_its_job,  // it ended badly, but its job was done by then: a warning
  job_failed,     // the worker said so itself, then ended
  process_died,   // nobody expected it
};

// `jobs` as of after the end. Nodes are expected to live until they are told to stop.
verdict judge(const process_end& end, const std::vector<policies::job_status>& jobs);

// Null when there is none of this name.
const policies::job_status* find_job(const std::vector<policies::job_status>& jobs,
                                     const std::string& name);

bool all_done(const std::vector<policies::job_status>& jobs);

// The first failed job; null when there is none.
const policies::job_status* first_failed(const std::vector<policies::job_status>& jobs);

}  // namespace tidegate::launch
