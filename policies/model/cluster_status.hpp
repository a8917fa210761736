// What the coordinator knows of a cluster, as the launcher shows it. Plain values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "policies/model/arrivals.hpp"
#include "policies/model/checkpoint_times.hpp"
#include "policies/model/membership_schedule.hpp"
#include "policies/model/process_name.hpp"
#include "policies/model/staleness_counts.hpp"

namespace tidegate::policies {

// Only the launcher says `interrupted`, of jobs of a run that somebody ended, and `cancelled`,
// of a job that somebody ended while others went on; both at the end of the run.
enum class job_state : std::uint8_t { waiting, running, done, failed, interrupted, cancelled };

// A worker that is or was of the job.
struct worker_status {
  std::uint32_t rank = 0;
  std::uint32_t incarnation = 0;
  bool joined = false;  // its process is there
  bool finished = false;
  std::uint64_t clock = 0;
  std::uint64_t samples = 0;
  worker_times times;
  rank_arrivals arrivals;  // over all shards or aggregators, since this coordinator began
  // By how much it came last, at the shard where that is least: who is late for a shard's sake
  // is not late at another.
  std::uint64_t least_late_ns = 0;
};

struct job_status {
  std::string name;
  std::string policy;  // "bsp", "ssp(3)", "async"
  job_state state = job_state::waiting;
  std::string failure;        // why, when failed
  std::uint32_t workers = 0;  // that are wanted
  std::uint32_t workers_joined = 0;
  std::uint32_t workers_finished = 0;
  std::uint64_t clock_slowest = 0;  // clocks finished by the slowest worker
  std::uint64_t clock_fastest = 0;
  std::uint64_t clocks_total = 0;          // clocks each worker will run; 0: unknown
  double epoch = 0;                        // of the slowest worker
  double loss = 0;                         // mean over workers of the last reported
  std::uint64_t samples = 0;               // processed so far, over all workers
  std::uint64_t staleness_max = 0;         // clocks, over all pulls so far
  staleness_counts staleness{};            // of workers that live, over all of theirs
  std::uint64_t payload_bytes_copied = 0;  // by our code, over all workers that have reported
  std::uint64_t restarts = 0;              // workers that have come back
  std::vector<std::uint32_t> ranks_finished;
  // By rank: the last incarnation that has asked to join; 0: none yet.
  std::vector<std::uint32_t> incarnations;
  std::vector<membership_change> changes;  // workers that joined late or left
  std::uint64_t checkpoints = 0;           // written since the job began or went back
  std::uint64_t checkpoint_clock = 0;      // of the last
  checkpoint_times checkpointing;
  bool last_checkpoint = false;  // the checkpoint asked for before an interrupt is written
  double seconds = 0;            // since the first worker joined; frozen when done or failed
  std::map<std::string, double> metrics;  // reported by workers: "test_accuracy", "loss", ...
  std::string parameters_sha256;          // hex, when done
  std::vector<worker_status> members;     // ascending in rank
  latest_arrival latest;                  // of the last second in which a clock closed
  // By shard, how its answers came to the workers, in sum; empty where there is one.
  std::vector<rank_arrivals> answers;
  // By shard, for how long it has waited for those that came last, in sum; where aggregators
  // come between, nothing.
  std::vector<std::uint64_t> waited_ns;
};

// Returns the clock at which a worker of the job is shown: where it runs it is not behind the
// slowest, whatever its last report says.
inline std::uint64_t shown_clock(const job_status& job, const worker_status& worker) noexcept {
  const bool runs = worker.joined && !worker.finished;
  return runs ? std::max(worker.clock, job.clock_slowest) : worker.clock;
}

// One line of events.jsonl that the coordinator saw.
// What an event is about, as far as it is about that, for programs that read events.jsonl.
struct event_fields {
  static constexpr std::uint32_t no_rank = 0xffff'ffff;
  static constexpr std::uint64_t no_clock = ~std::uint64_t{0};
  std::string process = {};  // its name; of a worker, job and rank are enough
  std::string job = {};
  std::uint32_t rank = no_rank;
  std::uint64_t clock = no_clock;
  std::string cause = {};  // why, in words

  friend bool operator==(const event_fields&, const event_fields&) = default;
};

// Of a process.
inline event_fields fields_of(const process_name& name, std::string cause = {}) {
  return {.process = name.to_string(),
          .job = name.job,
          .rank = name.role == process_role::worker ? name.index : event_fields::no_rank,
          .cause = std::move(cause)};
}

struct cluster_event {
  std::int64_t unix_ns = 0;
  std::string
      subject;  // "shard_joined", "worker_joined", "job_done", "job_failed", "peer_lost", ...
  std::string detail;  // one line for people
  event_fields about = {};
};

// A wait of more than two seconds.
struct wait_status {
  std::string waiter;   // "job mlp", "worker-mlp-1", "coordinator-0"
  std::string awaited;  // "worker-mlp-0 to join"
  double seconds = 0;   // so far
};

// A process that the launcher is to kill, because peers cannot reach it. It stays in the list
// when it is dead: the launcher kills only a process that still has this incarnation.
struct condemned_process {
  process_name name;
  std::uint32_t incarnation = 0;
  std::string reason;  // "it and worker-mlp-1 have not reached each other for 10.2 s"
};

// What a process tells that follows another in the chain of a shard, as its replica.
struct replica_status {
  std::uint32_t shard = 0;
  process_name name;
  shard_times times;
};

struct cluster_status {
  std::uint32_t epoch = 0;        // membership epoch
  std::uint32_t incarnation = 1;  // of the coordinator; another one counts events anew
  std::uint32_t shards_joined = 0;
  std::uint32_t replicas_in_sync = 0;
  std::string lost;  // why no process has the contents of a shard any more; empty: all is well
  std::vector<job_status> jobs;
  std::vector<shard_times> shards;       // of the process that serves each, as it told last
  std::vector<replica_status> replicas;  // that have told anything; by shard, along its chain
  std::vector<wait_status> waits;        // the longest first
  std::vector<condemned_process> condemned;
  std::vector<cluster_event> events;  // after the first so many that the caller has seen
};

}  // namespace tidegate::policies
