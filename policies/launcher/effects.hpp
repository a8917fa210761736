// What launch_core is told of processes and of the coordinator, and the effects that it asks
// its shell for. Plain values.
//
// The shell carries out effects in the order of launch_effects::all. Effects that follow from
// an answer (started(), renewed()) come after all that were there before. Only `renew` waits
// for something durable; no effect waits for a process or for the coordinator.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "policies/model/cluster_status.hpp"
#include "policies/model/process_exit.hpp"
#include "policies/model/process_name.hpp"
#include "policies/protocol/agent_messages.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::policies {

enum class run_outcome : std::uint8_t { done, job_failed, process_died };

struct launch_effects {
  // Start a process on this host; answered by started(), could_not_start(), or host_down(). In
  // an epoch after the first, `renew` has been answered with success before. Where a spare is
  // named it becomes this process, and its end is this process's; a spare that cannot (it has
  // just ended) is passed over, and a new process started.
  struct start {
    host_number host = 0;
    process_number process = 0;
    std::uint32_t incarnation = 1;  // rises when it comes back
    std::uint32_t epoch = 1;
    bool joins = false;  // a worker that its job goes on with anew: it keeps nothing of before
    bool moved = false;  // it was on another host the last time, or its host was lost since
    spare_number spare = no_spare;
  };
  // Start a process of the job's program that waits for a place on this host, that of this
  // rank; or have a spare that can make copies of itself make one. spare_ready() follows when
  // it waits, and spare_ended() when it has ended without a place, or could not be started.
  struct start_spare {
    host_number host = 0;
    spare_number spare = no_spare;
    std::string job;
    std::uint32_t rank = 0;
    spare_number copy_of = no_spare;
  };
  // End the spare (SIGKILL); spare_ended() follows.
  struct end_spare {
    host_number host = 0;
    spare_number spare = no_spare;
  };
  // Order a step of a survey; host_surveyed() follows all but the last, or host_down().
  struct survey {
    host_number host = 0;
    agent_orders::survey order;
  };
  // Begin a new epoch: stop polling the coordinator of the epoch before, put the number on
  // record, and answer by renewed(), before any other event, once it is durable or cannot be
  // made so. No process lives when this is asked for, and none is started before the answer.
  struct renew {
    std::uint32_t epoch = 1;
  };
  // Poll the coordinator from now on, again and again. Comes when all processes of the epoch
  // are started, before any effect below that speaks to the coordinator.
  struct watch {};
  // Poll without delay. Counted from 1 since `watch`, see coordinator_news.
  struct poll_now {};
  // Poll once more, tell the coordinator that these jobs have failed, and why, and to stop; in
  // this order. `terminate` and `kill` of the processes follow later, whether or not the
  // coordinator has answered.
  struct stop_cluster {
    std::vector<std::pair<std::string, std::string>> failures;
  };
  // Tell the coordinator that this worker, which has died, is to leave its job, again and again
  // until it answers; hand the answer to left(). An answer of an earlier epoch is dropped.
  struct leave {
    process_number process = 0;
  };
  // Tell the coordinator that this job has failed, and why, again and again until it answers.
  struct fail_job {
    std::string job;
    std::string reason;
  };
  // Put on record that this job was cancelled, so that it does not begin again when the run is
  // resumed. Who asked is answered after that; nothing else waits for it.
  struct record_cancelled {
    std::string job;
  };
  // Answer who asked that this job was done before the coordinator heard of it.
  struct was_done {
    std::string job;
  };
  // Ask the coordinator for one more checkpoint of this job, again and again until it answers;
  // job_status::last_checkpoint says when it is written. The run is interrupted after that.
  struct save {
    std::string job;
  };
  // Ask the process to end (SIGTERM), or end it (SIGKILL): the incarnation that was started
  // last under this number. Nothing happens where it has ended. ended() follows, as for any
  // end.
  struct terminate {
    process_number process = 0;
  };
  struct kill {
    process_number process = 0;
  };
  // Append a line to the events of the run. Nothing waits until it is durable.
  struct note {
    std::string subject;
    std::string detail;
    event_fields about = {};
  };
  // Show people a line, or the end of what a process has said.
  struct complain {
    std::string text;
  };
  struct show_log {
    process_number process = 0;
  };
  // Likewise, of the agent of a host.
  struct show_agent_log {
    host_number host = 0;
  };
  // The run is over: every process has ended, and no effect follows. `reason` says why not all
  // jobs are done.
  struct conclude {
    run_outcome outcome = run_outcome::done;
    std::string reason;
  };
  using effect =
      std::variant<start, start_spare, end_spare, survey, renew, watch, poll_now, stop_cluster,
                   leave, fail_job, record_cancelled, was_done, save, terminate, kill, note,
                   complain, show_log, show_agent_log, conclude>;
  std::vector<effect> all;
};

// How polling the coordinator goes. The shell may hand over the same news again.
struct coordinator_news {
  runtime::status health;         // of the latest poll
  std::uint64_t answered = 0;     // number of the latest poll_now before that poll
  std::vector<job_status> jobs;   // of the latest poll that was answered; empty: none was
  std::uint32_t incarnation = 0;  // of the coordinator that answered it
  std::string lost;               // see cluster_status
  std::vector<condemned_process> condemned = {};  // likewise
};

}  // namespace tidegate::policies
