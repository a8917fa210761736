// What launch_core is told of processes and of the coordinator, and the effects that it asks
// its shell for. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "policies/model/cluster_status.hpp"
#include "policies/model/process_name.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::policies {

// How a process has ended. `text`: "worker 2 of job mlp (pid 47) was killed by SIGKILL".
struct process_exit {
  enum class ending : std::uint8_t { clean, bad_status, by_signal };
  ending kind = ending::clean;
  std::string text;
};

enum class run_outcome : std::uint8_t { done, job_failed, process_died };

struct launch_effects {
  // Answered by started() or could_not_start() before any other event.
  struct start {
    process_number process = 0;
    std::uint32_t incarnation = 1;  // rises when it comes back
    std::uint32_t epoch = 1;
  };
  // A new epoch begins: the coordinator of the one before is polled no more. Answered by
  // renewed() before any other event.
  struct renew {
    std::uint32_t epoch = 1;
  };
  // All processes are started: poll the coordinator from now on, again and again.
  struct watch {};
  // Poll without delay. Counted from 1, see coordinator_news.
  struct poll_now {};
  // Poll once more, tell the coordinator that these jobs have failed, and why, and to stop.
  struct stop_cluster {
    std::vector<std::pair<std::string, std::string>> failures;
  };
  // This worker has died, and its job is to go on without it: the coordinator is told, and its
  // word is given to left().
  struct leave {
    process_number process = 0;
  };
  // The run is about to be interrupted: the coordinator is asked for one more checkpoint of
  // this job, and job_status::last_checkpoint says when it is written.
  struct save {
    std::string job;
  };
  // A process is asked to end, or ended.
  struct terminate {
    process_number process = 0;
  };
  struct kill {
    process_number process = 0;
  };
  // For the journal of the run.
  struct note {
    std::string subject;
    std::string detail;
  };
  // For people: a line, and the end of what a process has said.
  struct complain {
    std::string text;
  };
  struct show_log {
    process_number process = 0;
  };
  // Every process has ended; the last effect. `reason`: why not all jobs are done.
  struct conclude {
    run_outcome outcome = run_outcome::done;
    std::string reason;
  };
  using effect = std::variant<start, renew, watch, poll_now, stop_cluster, leave, save,
                              terminate, kill, note, complain, show_log, conclude>;
  std::vector<effect> all;
};

// How polling the coordinator goes. May be told again when nothing has changed.
struct coordinator_news {
  runtime::status health;         // of the latest poll
  std::uint64_t answered = 0;     // the latest poll_now that has come before that poll
  std::vector<job_status> jobs;   // of the latest poll that was answered; empty: of none
  std::uint32_t incarnation = 0;  // of the coordinator that answered it
  std::string lost;               // see cluster_status
  std::vector<condemned_process> condemned = {};  // likewise
};

}  // namespace tidegate::policies
