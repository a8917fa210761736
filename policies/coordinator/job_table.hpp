// The jobs of a run, their workers and aggregators: what the coordinator knows of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policies/checkpoint/round_clock.hpp"
#include "policies/checkpoint/rounds.hpp"
#include "policies/coordinator/effects.hpp"
#include "policies/coordinator/late_book.hpp"
#include "policies/coordinator/record.hpp"
#include "policies/model/cluster_status.hpp"
#include "policies/model/membership_schedule.hpp"
#include "policies/model/spec.hpp"
#include "policies/placement/aggregation_tree.hpp"
#include "policies/protocol/control_calls.hpp"

namespace tidegate::policies::coordination {

struct worker_state {
  bool joined = false;
  bool away = false;  // its process is lost, and no other has joined
  bool finished = false;
  std::uint32_t incarnation = 0;
  std::string address;
  bool absent = false;      // not of the job, so far or any more; it counts as finished
  bool leaves = false;      // for good; not everybody knows
  bool invited = false;     // it may join although it is absent
  std::uint64_t since = 0;  // its first clock, in its last stay
  std::optional<std::uint64_t> left;  // it pushed no clock from this one on, and is absent
  std::optional<std::vector<std::uint32_t>> tables;  // opened, once it has said so
  std::uint64_t staleness_max = 0;                   // of earlier incarnations
  std::uint64_t payload_bytes_copied = 0;            // likewise
  worker_progress last;
  rank_arrivals arrivals;

  // Returns true if the worker is or was of the job.
  bool has_been() const { return !absent || left.has_value(); }
};

struct aggregator_state {
  enum class stage : std::uint8_t {
    away,        // not joined yet, or gone
    waiting,     // to be set up when those above it are
    setting_up,  // it is told all that it must know
    ready,
  };
  std::string address;  // of the last process that was here; empty: there was none
  std::uint32_t incarnation = 0;
  stage at = stage::away;
  bool took_over = false;  // set up after the others
};

struct job_record {
  job_spec spec;
  std::uint64_t token = 0;
  job_state state = job_state::waiting;
  std::string failure;
  std::vector<worker_state> workers;  // by rank, up to the capacity
  std::uint32_t wanted = 0;           // workers; ranks below may join
  std::vector<membership_change> changes;
  bool joining = false;  // a rank is; one after the other
  aggregation sums;
  std::vector<aggregator_state> aggregators;
  std::map<std::string, double> metrics;
  latest_arrival latest;
  std::int64_t latest_at = 0;          // when a shard or aggregator said so
  std::vector<rank_arrivals> answers;  // of shards, over all workers
  late_book late;                      // of shards, without aggregators
  // The rank and the tables, ascending, of the first worker that came to its first clock().
  std::optional<std::pair<std::uint32_t, std::vector<std::uint32_t>>> tables_opened;
  std::string parameters_sha256;
  std::int64_t began = 0;
  std::int64_t ended = 0;
  std::optional<restored_job> restored;
  std::optional<checkpoint_rounds> rounds;
  round_clock round_times;
  std::uint64_t restarts = 0;     // workers that have come back
  std::uint64_t checkpoints = 0;  // written in this epoch
  std::uint64_t checkpoint_clock = 0;
  checkpoint_id begun;  // the last checkpoint that shards may have heard of
  bool at_end = false;  // all workers have finished; the last checkpoint may be under way

  bool has_ended() const { return state == job_state::failed || state == job_state::done; }
};

class job_table {
 public:
  // Makes the jobs of a cluster. The token of each job is derived from that of the run.
  job_table(const cluster_spec& cluster, std::uint64_t token, restored_cluster from);

  // Goes on with the contents of the journal. Addresses of nodes are not in it: each node tells
  // its own again.
  void go_on(const recorded_cluster& before);

  // Return null if the cluster has no such job. Valid as long as the table.
  job_record* find(const std::string& name);
  const job_record* find(const std::string& name) const;
  std::size_t index_of(const job_record& job) const {
    return static_cast<std::size_t>(&job - jobs_.data());
  }
  job_record& operator[](std::size_t index) { return jobs_[index]; }
  const job_record& operator[](std::size_t index) const { return jobs_[index]; }
  std::size_t size() const { return jobs_.size(); }
  auto begin() { return jobs_.begin(); }
  auto end() { return jobs_.end(); }
  auto begin() const { return jobs_.begin(); }
  auto end() const { return jobs_.end(); }

 private:
  std::vector<job_record> jobs_;
};

// Append the present state of a job, or of one of its workers, to coordinator_effects::records.
void record(const job_record& job, coordinator_effects& out);
void record(const job_record& job, std::uint32_t rank, coordinator_effects& out);
// Applies a change of the workers that take part. The journal holds changes, and not the states
// of workers that follow from them.
void note_change(job_record& job, const membership_change& change);

}  // namespace tidegate::policies::coordination
