// What a coordinator says to shards, aggregators and workers, and what they ask. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "policies/checkpoint/rounds.hpp"
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
  std::uint64_t epoch = 0;         // of frames there
  std::uint32_t workers = 0;       // ranks are below
  std::uint32_t contributors = 0;  // that begin
  std::string name;
  consistency_spec consistency;
  reduce_kind reduce = reduce_kind::mean;
  bool workers_come_back = false;      // see sharding::job_options
  std::vector<std::uint32_t> members;  // ranks that push to shards; empty: all
  // To an aggregator: what it hands on, and to whom.
  std::vector<rank_node> nodes;
  std::vector<std::string> upstream;
  std::vector<std::uint64_t> upstream_epochs;
  std::uint32_t incarnation = 0;  // under which it pushes there
  bool upstream_moves = false;    // another process may take its place
  bool replicated = false;        // shards are (versions_kept)
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
  // The chunks are as in this checkpoint instead, where the table has this name and shape.
  std::string name;
  std::vector<std::uint64_t> shape;
  checkpoint_id restore;  // number 0: none
  // To an aggregator: of its members' first pushes, by chunk; empty: 0.
  std::vector<std::uint64_t> first_clocks;
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

// To whoever a rank pushes to: it leaves for good, and frames of it are refused from now on.
// Answered with join_barrier::pushed_below. `only_asks`: of the rank of a sum that it is in.
struct shut_out_call {
  std::uint64_t token = 0;
  std::uint32_t rank = 0;
  bool only_asks = false;
};

// To all shards, and to the aggregator of one that leaves: see join_barrier::change_membership.
// Each hears of all changes in their order.
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

// To whoever an aggregator pushes to: where it is to go on that takes the place of a dead one.
// Answered with job_admin::first_clocks of these ranks.
struct sum_progress_call {
  std::uint64_t token = 0;
  std::vector<std::uint32_t> ranks;  // of its sums
};

// To a shard: this job has failed; refuse whoever waits.
struct close_job_call {
  std::uint64_t token = 0;
};

// To a primary: this replica follows you, or with an empty address nobody does. Answered when
// the replica has everything.
struct lead_call {
  std::uint32_t view = 0;
  std::string address;
  bool has_all = false;  // nothing needs to be handed over
};

// To a replica: this is its primary.
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

// To a process of a slot: it is to have these too, which join then. Not answered.
struct host_call {
  std::vector<hosted_member> members;
};

// To a replica: it is the primary now.
struct promote_call {
  std::uint32_t view = 0;
  std::uint64_t epoch = 0;  // of workers' frames
};

using shard_call =
    std::variant<open_job_call, open_table_call, admit_worker_call, close_job_call,
                 checkpoint_call, lead_call, follow_call, promote_call, sum_progress_call,
                 shut_out_call, membership_call, join_barrier_call>;

// To a worker: all it needs to talk to the shards, or to its aggregator, which is then the one
// shard that it knows.
struct worker_welcome {
  std::uint64_t token = 0;
  std::uint32_t epoch = 0;
  std::uint64_t first_clock = 0;  // of a worker that comes back: where it goes on
  std::uint32_t workers = 0;
  std::uint32_t capacity = 0;  // ranks are below
  std::uint64_t seed = 0;
  std::string policy;
  not_finite_rule not_finite = not_finite_rule::refuse;
  std::vector<std::string> shard_addresses;
  std::vector<std::uint64_t> shard_epochs;  // that their frames carry
  bool aggregated = false;
  // A clock is pushed when all pushes of the one before are acknowledged: what an aggregator
  // knows lags no more than the version before, which it keeps for workers that come back.
  bool one_clock_in_flight = false;
  bool replicated = false;  // a shard that is gone may move
};

// To a worker or an aggregator: another process serves this shard now, or is its aggregator.
struct shard_moved {
  std::uint32_t shard = 0;  // as of whoever is told: its aggregator is 0
  std::uint64_t epoch = 0;  // of its frames
  std::string address;
};

struct table_grant {
  std::uint32_t table = 0;
  std::uint64_t elements = 0;
  std::string name;
  table_places places;
};

struct worker_hello {
  std::string job;
  std::uint32_t rank = 0;
  std::uint32_t incarnation = 0;
  std::string address;
};

// What a worker says now and then.
struct worker_progress {
  std::uint64_t clock = 0;
  std::uint64_t clocks_total = 0;
  double epoch = 0;
  double loss = 0;
  std::uint64_t samples = 0;
  std::uint64_t staleness_max = 0;
  std::uint64_t payload_bytes_copied = 0;  // when finished, also by shards for this worker

  friend bool operator==(const worker_progress&, const worker_progress&) = default;
};

// `options_given`: the worker chose the init itself, else a declared table keeps the YAML's.
// `optimizer_given`: likewise the optimizer, else the declared table's or the job's is taken.
struct table_request {
  std::string job;
  table_spec spec;
  bool options_given = false;
  bool optimizer_given = false;
};

}  // namespace tidegate::policies
