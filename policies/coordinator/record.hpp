// The journal of a coordinator: what the next process must know to go on after a death. Each
// decision that other processes hear of is a record, durable before they hear of it
// (coordinator_effects::records). Also the values that a coordinator's core begins with. Plain
// values; encoding and decoding are pure, any thread.
//
// A record replaces the record before of the same key. So a journal has one record of the run,
// one of the slots, one per job, worker, group of replicas and metric, and one per set of
// tables that were made at once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "policies/checkpoint/name.hpp"
#include "policies/model/cluster_status.hpp"
#include "policies/model/membership_schedule.hpp"
#include "policies/model/spec.hpp"
#include "policies/placement/replica_chain.hpp"
#include "policies/placement/shard_map.hpp"
#include "policies/protocol/control_calls.hpp"
#include "runtime/base/journal.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::policies {

// A job, and a table of it, as a checkpoint has them: the job goes on there.
struct restored_table {
  std::string name;
  std::vector<std::uint64_t> shape;
  optimizer_spec optimizer;
  rows_spec rows = {};

  friend bool operator==(const restored_table&, const restored_table&) = default;
};
struct restored_job {
  checkpoint_id id;
  std::uint64_t clock = 0;
  std::vector<restored_table> tables;
  std::vector<std::uint32_t> left = {};  // checkpoint_manifest::left; not recorded

  friend bool operator==(const restored_job&, const restored_job&) = default;
};
// The checkpoints that a run begins with; `jobs` by name. A job without a checkpoint is not in
// it.
struct restored_cluster {
  std::uint32_t epoch = 1;
  std::map<std::string, restored_job> jobs;

  friend bool operator==(const restored_cluster&, const restored_cluster&) = default;
};

// What the run began with. It is the first record; a journal without it is of no run.
struct recorded_run {
  restored_cluster from;
};
struct recorded_job {
  std::string name;
  job_state state = job_state::waiting;
  std::string failure;
  std::int64_t began = 0;
  std::int64_t ended = 0;
  std::string parameters_sha256;
  std::uint64_t restarts = 0;
  std::uint64_t checkpoints = 0;
  std::uint64_t checkpoint_clock = 0;
  checkpoint_id begun;  // the last checkpoint that shards may have been asked for
  std::uint32_t wanted = 0;
  std::vector<membership_change> changes;
};
struct recorded_worker {
  std::string job;
  std::uint32_t rank = 0;
  bool joined = false;
  bool finished = false;
  std::uint32_t incarnation = 0;
  std::string address;
  bool invited = false;
  std::optional<std::vector<std::uint32_t>> tables;  // opened, once it has said so
  std::uint64_t staleness_max = 0;                   // of earlier lives
  std::uint64_t payload_bytes_copied = 0;            // likewise
  worker_progress last;                              // as of when this was recorded
};
// The chain of a shard, where shards have replicas or move, from when all processes of the
// group have joined first.
struct recorded_group {
  std::uint32_t shard = 0;
  replica_chain::state state;
};
// The slots that shards are to be in, where they move, and the processes that have joined.
struct recorded_slots {
  std::uint32_t wanted = 0;
  std::vector<std::uint32_t> slot_of;  // by shard
  struct process {
    shard_map::process id;
    std::uint32_t incarnation = 0;
  };
  std::vector<process> processes;
};
// Tables that were made at once. Their ids follow those of the record before, in this order.
struct recorded_tables {
  std::uint32_t number = 0;  // of the record, from 0
  std::string job;
  std::vector<table_spec> specs;  // at least one
};
struct recorded_metric {
  std::string job;
  std::string name;
  double value = 0;
};
using coordinator_record =
    std::variant<recorded_run, recorded_job, recorded_worker, recorded_group, recorded_slots,
                 recorded_tables, recorded_metric>;

// Returns the entry of a record, whose key depends only on what the record is about.
runtime::journal_entry encode(const coordinator_record& record);

// A whole journal. Without a run all the rest is empty.
struct recorded_cluster {
  std::optional<recorded_run> run;
  std::vector<recorded_job> jobs;
  std::vector<recorded_worker> workers;
  std::vector<recorded_group> groups;
  std::optional<recorded_slots> slots;
  std::vector<recorded_tables> tables;  // by number
  std::vector<recorded_metric> metrics;
};

// Decodes entries without looking at a cluster. Errors: corrupt.
runtime::expected<recorded_cluster> decode_entries(
    std::span<const runtime::journal_entry> entries);
// Decodes entries, and checks them against the cluster. Errors: corrupt (an entry that is no
// record, or records that this cluster cannot have come to).
runtime::expected<recorded_cluster> decode_journal(
    const cluster_spec& cluster, std::span<const runtime::journal_entry> entries);

}  // namespace tidegate::policies
