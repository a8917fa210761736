// What a coordinator core keeps of jobs, workers, aggregators and tables, and of the calls that
// it has made. Plain values; coordinator_core.hpp says what becomes of them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "policies/checkpoint/rounds.hpp"
#include "policies/coordinator/record.hpp"
#include "policies/model/clock_vector.hpp"
#include "policies/model/cluster_status.hpp"
#include "policies/model/roster.hpp"
#include "policies/model/spec.hpp"
#include "policies/placement/aggregation.hpp"
#include "policies/protocol/control_calls.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::policies {

using ticket = std::uint64_t;
using call_id = std::uint64_t;

// Names for coordinator_core alone.
struct coordinator_parts {
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
    std::uint64_t staleness_max = 0;                   // of earlier lives
    std::uint64_t payload_bytes_copied = 0;            // likewise
    worker_progress last;
  };
  struct aggregator_state {
    enum class stage : std::uint8_t {
      away,        // not joined yet, or gone
      waiting,     // to be set up when those above it are
      setting_up,  // it is told all that it must know
      ready,
    };
    std::string address;  // of the last one that was here; empty: nobody was
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
    std::vector<roster_change> changes;
    bool joining = false;  // a rank; one after the other
    aggregation sums;
    std::vector<aggregator_state> aggregators;
    std::map<std::string, double> metrics;
    // Of the first worker that came to its first clock(): its rank, its tables ascending.
    std::optional<std::pair<std::uint32_t, std::vector<std::uint32_t>>> tables_opened;
    std::string parameters_sha256;
    std::int64_t began = 0;
    std::int64_t ended = 0;
    std::optional<restored_job> restored;
    std::optional<checkpoint_rounds> rounds;
    std::uint64_t restarts = 0;     // workers that have come back
    std::uint64_t checkpoints = 0;  // written in this epoch
    std::uint64_t checkpoint_clock = 0;
    checkpoint_id begun;  // the last one
    bool at_end = false;  // all workers have finished; the last checkpoint may be under way
  };
  // Of a slot, where shards move.
  struct slot_process {
    std::uint32_t life = 0;
    bool here = false;
    bool lost = false;  // in this life
  };
  struct asked_part {
    std::size_t job = 0;
    std::uint32_t shard = 0;
    checkpoint_id id;
  };
  struct table_state {
    std::size_t job = 0;
    table_spec spec;
    table_grant grant;
    bool ready = false;
    bool restored = false;  // with whatever first values it had once
    bool recorded = false;  // made before this process began
  };
  using group_id = std::uint64_t;
  static constexpr auto no_job = ~std::size_t{0};  // of groups of calls
  struct callee {
    std::uint32_t index = 0;
    bool aggregator = false;   // of the group's job
    std::uint32_t member = 0;  // of a shard's group

    friend bool operator==(const callee&, const callee&) = default;
  };
  struct call_made {
    group_id group = 0;
    callee recipient;
    bool primary = true;            // when it was called; a replica's answer does not count
    bool may_fail = false;          // to let in whoever has died since, of whom we shall hear
    std::uint32_t view = 0;         // since when it was the primary
    std::uint32_t incarnation = 0;  // of an aggregator
    shard_call content;             // to be called again
  };
  static constexpr std::uint32_t no_view = 0xffff'ffff;
  // One that follows another in this view, and is in sync when all calls are answered.
  struct new_replica {
    std::uint32_t shard = 0;
    std::uint32_t view = 0;
    bool holds_up = false;  // nobody is let in before
  };
  struct promotion {
    std::uint32_t shard = 0;
    std::uint32_t view = 0;
  };
  // One that takes the place of another, or comes to the next coordinator: first it is made
  // known upstream, which says where it is to go on, then it is told.
  struct aggregator_set_up {
    std::uint32_t index = 0;
    std::uint32_t incarnation = 0;
    bool asks_upstream = true;
  };
  // A rank that leaves for good: first those are asked that it pushes to, then all are told.
  struct leaving {
    std::uint32_t rank = 0;
  };
  struct leaving_told {
    std::uint32_t rank = 0;
  };
  // A rank that joins: first shards are asked to hold a clock for it, then all are told.
  struct joining {
    worker_hello hello;
    std::uint64_t clock = 0;
    std::uint32_t tries = 0;
  };
  struct joining_told {
    worker_hello hello;
  };
  struct staged_call {
    callee recipient;
    shard_call call;
  };
  // A set of calls to shards and aggregators, and who waits for all of them.
  struct call_group {
    std::uint32_t remaining = 0;
    std::vector<std::vector<staged_call>> later;  // one set after the other, the last first
    std::size_t job = 0;
    std::vector<ticket> waiting;
    // A worker, a table's id, ...
    std::variant<std::monostate, worker_hello, std::uint32_t, new_replica, promotion,
                 aggregator_set_up, leaving, leaving_told, joining, joining_told>
        about;
    std::uint64_t first_clock = clock_vector::infinity;  // the least that was answered
    std::uint64_t last_clock = 0;                        // the most
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> clocks;  // by table, chunk
    std::optional<promotion> died;  // a primary before it answered, and since when it was one
    std::optional<std::uint32_t> sum_died;  // likewise an aggregator: its incarnation
    runtime::status failure;
  };
};

}  // namespace tidegate::policies
