// What a coordinator says to shards, aggregators and workers, and what they ask. Plain values.
// A *_call is answered unless its comment says otherwise; every call may come twice. `token` is
// that of the job.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "policies/checkpoint/rounds.hpp"
#include "policies/model/arrivals.hpp"
#include "policies/model/membership_schedule.hpp"
#include "policies/model/rank_progress.hpp"
#include "policies/model/spec.hpp"
#include "policies/placement/aggregation_tree.hpp"
#include "policies/placement/placement.hpp"
#include "policies/placement/replica_chain.hpp"

namespace tidegate::policies {

// To a shard: hold chunks for this job.
struct open_job_call {
  std::uint64_t token = 0;
  std::uint64_t epoch = 0;         // that frames to the callee carry
  std::uint32_t workers = 0;       // capacity: ranks are below
  std::uint32_t contributors = 0;  // workers that the job begins with
  std::string name;
  consistency_spec consistency;
  reduce_kind reduce = reduce_kind::mean;
  bool workers_come_back = false;      // see sharding::job_options
  std::vector<std::uint32_t> members;  // ranks that push to shards; empty: all
  // To an aggregator: the sums that it hands on, and the addresses of those that it pushes to.
  std::vector<rank_node> nodes;
  std::vector<std::string> upstream;
  std::vector<std::uint64_t> upstream_epochs;
  std::uint32_t incarnation = 0;  // under which it pushes there
  bool upstream_moves = false;    // another process may take its place
  bool replicated = false;        // shards are (versions_kept)
  float clip_norm = 0.0F;         // of job_spec
};

// To a shard: own these chunks of a table, starting from their initial values. To an
// aggregator: all chunks, and to which of its upstreams they are handed on.
struct open_table_call {
  std::uint64_t token = 0;
  std::uint32_t table = 0;
  optimizer_spec optimizer;
  init_spec init;
  std::uint64_t init_key = 0;  // runtime/base/rng.hpp; the same for all chunks of the table
  table_places places;         // of this process only
  // If `restore` is given, the chunks are as in that checkpoint, where the table has this name
  // and shape.
  std::string name;
  std::vector<std::uint64_t> shape;
  checkpoint_id restore;  // number 0: none
  // To an aggregator: the clocks of its members' first pushes, by chunk; empty: 0.
  std::vector<std::uint64_t> first_clocks;
  rows_spec rows = {};  // dim 0: the table is dense
};

// To a shard: expect frames of this worker, and answer it at this address. Answered with
// job_admin::first_missing of these tables.
struct admit_worker_call {
  std::uint64_t token = 0;
  std::uint32_t rank = 0;
  std::uint32_t incarnation = 0;
  std::string address;
  std::vector<std::uint32_t>
      tables;             // that this rank has opened, in this or an earlier incarnation
  bool finished = false;  // it pushes no more; told twice it counts once
};

// To a process that a rank pushes to: the rank leaves for good, and its frames are refused from
// now on. Answered with join_barrier::pushed_below. `only_asks`: nothing is refused; the rank
// is that of a sum that the leaving rank is in.
struct shut_out_call {
  std::uint64_t token = 0;
  std::uint32_t rank = 0;
  bool only_asks = false;
};

// To all shards, and to the aggregator of a rank that leaves: see
// join_barrier::change_membership. Each process gets all changes in their order.
struct membership_call {
  std::uint64_t token = 0;
  membership_change change;
};

// To all shards: this rank is to join at that clock. Answered with join_barrier::hold.
struct join_barrier_call {
  std::uint64_t token = 0;
  std::uint64_t clock = 0;
  std::uint32_t rank = 0;
};

// To a process that an aggregator pushes to: asks where the successor of a dead aggregator is
// to go on. Answered with job_admin::first_clocks of these ranks.
struct sum_progress_call {
  std::uint64_t token = 0;
  std::vector<std::uint32_t> ranks;  // of its sums
};

// To a shard: this job has failed; refuse all requests that wait.
struct close_job_call {
  std::uint64_t token = 0;
};

// To a member of a chain: lead the replica at this address, in this view; with an empty address
// lead nobody. Answered when the replica has everything.
struct lead_call {
  std::uint32_t view = 0;
  std::string address;
  bool has_all = false;  // nothing needs to be handed over
};

// To a replica: follow the member at this address, in this view.
struct follow_call {
  std::uint32_t view = 0;
  std::string address;
};

// One process of a shard's group, which has several where shards move.
struct hosted_member {
  std::uint32_t shard = 0;
  group_member member;

  friend auto operator<=>(const hosted_member&, const hosted_member&) = default;
};

// To a process of a slot: have these members too. Not answered: the members join.
struct host_call {
  std::vector<hosted_member> members;
};

// To a replica: be the primary from now on.
struct promote_call {
  std::uint32_t view = 0;
  std::uint64_t epoch = 0;  // of workers' frames
};

using shard_call =
    std::variant<open_job_call, open_table_call, admit_worker_call, close_job_call,
                 checkpoint_call, lead_call, follow_call, promote_call, sum_progress_call,
                 shut_out_call, membership_call, join_barrier_call>;

// To a worker: all that it needs to talk to the shards, or to its aggregator, which is then the
// only shard that it knows.
struct worker_welcome {
  std::uint64_t token = 0;
  std::uint32_t epoch = 0;
  std::uint64_t first_clock = 0;  // where the worker begins or goes on
  std::uint32_t workers = 0;      // that are wanted now
  std::uint32_t capacity = 0;     // ranks are below
  std::uint64_t seed = 0;
  std::string policy;
  not_finite_rule not_finite = not_finite_rule::refuse;
  reduce_kind reduce = reduce_kind::mean;
  std::vector<std::string> shard_addresses;
  std::vector<std::uint64_t> shard_epochs;  // that their frames carry
  bool aggregated = false;
  // A clock is pushed when all pushes of the one before are acknowledged: what an aggregator
  // knows lags no more than the version before, which it keeps for workers that come back.
  bool one_clock_in_flight = false;
  bool replicated = false;  // a shard that is gone may move
  // Tables of the job, where a worker has come to its first push: all workers open the same
  // before that, where they wait for one another. 0: not known.
  std::uint32_t tables = 0;
};

// To a worker or an aggregator: another process serves this shard now, or is its aggregator.
// Not answered.
struct shard_moved {
  std::uint32_t shard = 0;  // as the receiver counts them: its aggregator is 0
  std::uint64_t epoch = 0;  // of its frames
  std::string address;
};

struct table_grant {
  std::uint32_t table = 0;
  std::uint64_t elements = 0;
  std::string name;
  table_places places;
  bool lazy = false;    // its optimizer is: ranges may be pushed
  rows_spec rows = {};  // dim 0: the table is dense
  runtime::reduction reduce = runtime::reduction::of_job;
};

struct worker_hello {
  std::string job;
  std::uint32_t rank = 0;
  std::uint32_t incarnation = 0;
  std::string address;
};

// How far a worker is, as it says now and then.
struct worker_progress {
  std::uint64_t clock = 0;
  std::uint64_t clocks_total = 0;
  double epoch = 0;
  double loss = 0;
  std::uint64_t samples = 0;
  std::uint64_t staleness_max = 0;
  std::vector<std::uint64_t> staleness;    // by range, as staleness_counts; or empty
  std::uint64_t payload_bytes_copied = 0;  // when finished, also by shards for this worker
  worker_times times;
  std::vector<rank_arrivals> answers;  // by shard: which came last; empty with one shard

  friend bool operator==(const worker_progress&, const worker_progress&) = default;
};

// A worker asks to open a table. If `options_given`, the init is the worker's choice, else a
// declared table keeps the YAML's; if `optimizer_given`, the optimizer is, else the declared
// table's or the job's is taken.
struct table_request {
  std::string job;
  table_spec spec;
  bool options_given = false;
  bool optimizer_given = false;
};

}  // namespace tidegate::policies
