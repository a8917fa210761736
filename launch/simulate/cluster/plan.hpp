// One simulated cluster: what runs in it, what its workers do, and what goes wrong. Drawn from
// a scenario and a seed; plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "launch/simulate/cluster/disk.hpp"
#include "launch/simulate/cluster/knobs.hpp"
#include "launch/simulate/cluster/network.hpp"
#include "launch/simulate/cluster/schedule.hpp"
#include "policies/model/spec.hpp"

namespace tidegate::sim {

// How a worker moves its data; see session.
enum class worker_way : std::uint8_t { pull_push, overlapped, exchange };

struct worker_script {
  std::vector<policies::table_spec> tables;  // that a worker opens, the job's and others
  worker_way way = worker_way::pull_push;
  std::uint64_t clocks = 5;
  std::uint64_t slow_rank = 0;  // modulo the workers: computes so much longer than the others
  std::uint32_t slow_factor = 1;
  double skip = 0;              // pushes left out
  double ranges = 0;            // pulls and pushes of ranges, of tables that allow them
  double calls = 0;             // pulled tables of which a function is called, too
  double ahead = 0;             // tables whose rows are pulled ahead of the next clock
  nanoseconds compute_min = 0;  // of a clock
  nanoseconds compute_max = millisecond;
  double pause = 0;  // clocks before which a worker stops for a while
  nanoseconds pause_max = 50 * millisecond;
  std::optional<std::uint64_t> keeps_from;  // the first clock at which a worker keeps state
  bool holds_early = false;                 // it wants to before, in vain
};

enum class role : std::uint8_t { launcher, agent, coordinator, shard, aggregator, worker };

struct death {
  role whose = role::worker;
  std::uint64_t pick = 0;  // which of them, modulo their number
  nanoseconds when = 0;
  // Above 0: it lives, and is cut off from the coordinator for so long.
  nanoseconds cut_off_for = 0;
};

// A worker dies in the middle of a commit of what it keeps.
struct commit_death {
  std::uint64_t commit = 0;  // the number of it, among all of the cluster
  std::uint64_t bytes = 0;   // that it writes before
};

// So many workers are wanted from then on.
struct scaling {
  std::uint64_t job = 0;  // modulo their number
  std::uint32_t workers = 1;
  nanoseconds when = 0;
};

// So many shards are: slots of processes that have them.
struct shard_scaling {
  std::uint32_t slots = 1;
  nanoseconds when = 0;
};

// Somebody cancels a job.
struct cancellation {
  std::uint64_t job = 0;
  nanoseconds when = 0;
};

// A host that is not the launcher's dies, with all its processes, or is out of everybody's
// reach.
struct host_fault {
  std::uint64_t pick = 0;  // which, modulo their number
  nanoseconds when = 0;
  nanoseconds lasts = 0;  // no agent can be started for so long; or nothing passes
  bool is_cut = false;    // it lives
};

// It stops for a while, as by SIGSTOP and SIGCONT.
struct stall {
  role whose = role::worker;
  std::uint64_t pick = 0;
  nanoseconds when = 0;
  nanoseconds lasts = 0;
};

struct partition {
  nanoseconds when = 0;
  nanoseconds lasts = 0;
  std::uint64_t side = 0;  // bits: which processes are on one side
};

// The connection between two that live, and do not share memory, breaks.
struct link_break {
  std::uint64_t pick = 0;  // a pair, modulo their number
  nanoseconds when = 0;
  nanoseconds lasts = 0;  // no other connection can be made for so long
  bool one_way = false;
  bool silent = false;  // attempts that fail tell nobody
  bool stays = false;   // as long as both live, however long it lasts otherwise
};

// The control connection between the coordinator and another process breaks; both live.
struct control_break {
  std::uint64_t pick = 0;  // which process, modulo their number
  nanoseconds when = 0;
  nanoseconds lasts = 0;          // no other connection can be made for so long
  bool one_hears_late = false;    // after seconds
  bool coordinator_late = false;  // it is that one, else the other
  bool stays = false;             // as long as both live, of a member
};

// The disk of the run folder has no room: no file of it can be written, and no journal.
struct full_disk {
  nanoseconds when = 0;
  nanoseconds lasts = 0;
  bool stays = false;  // until somebody reads why the run has ended, or cannot go on
};

// What is slow in a job for some clocks; see slowness.
enum class slow_kind : std::uint8_t {
  none,
  worker_computes,  // so much longer
  worker_link,      // what it sends is so much later
  worker_stopped,   // once, for so long, as by SIGSTOP
  shard_link,
  shard_busy,  // so long with each clock's steps
  shard_stopped,
  worker_collects,  // garbage, so much longer
  replica_link,     // of what replicates a shard
  replica_stopped,
  shard_disk,  // a part of a checkpoint is written for so long
};

struct slow_plan {
  slow_kind kind = slow_kind::none;
  std::uint64_t pick = 0;    // of the workers or the shards, modulo their number
  std::uint64_t from = 0;    // the first clock
  std::uint64_t clocks = 3;  // evidence enough
  nanoseconds extra = 0;
  nanoseconds within = 0;  // the first of these clocks: when a process is stopped
};

struct cluster_plan {
  policies::cluster_spec spec;
  bool windows = true;                 // processes of one host share memory
  bool on_devices = false;             // shards step on devices, which work beside them
  double devices_lost = 0;             // share of those that are lost soon
  std::vector<worker_script> scripts;  // by job
  network_faults faults;
  nanoseconds faults_end = 0;  // afterwards the network is healthy
  std::vector<death> deaths;
  std::vector<commit_death> commit_deaths;
  std::vector<scaling> scalings;
  std::vector<shard_scaling> shard_scalings;
  std::vector<cancellation> cancellations;
  std::vector<stall> stalls;
  bool has_agents = false;  // of their own, all hosts but the launcher's
  std::vector<host_fault> host_faults;
  std::set<std::pair<std::uint32_t, std::uint32_t>>
      apart;                                       // the first never reaches the second
  std::vector<std::optional<std::uint32_t>> room;  // by host, for others' processes; empty: any
  std::vector<partition> partitions;
  std::vector<link_break> breaks;
  std::vector<control_break> control_breaks;
  double clock_skew = 0;  // clocks of processes run up to so much faster or slower
  double strangers = 0;   // frames that come once more from an earlier epoch, with other bytes
  double no_memory = 0;   // pushes for which a shard has no room
  double no_window = 0;   // attaches that fail
  std::uint32_t spawns_fail =
      0;  // processes that cannot be started again, of the first that are
  knobs set;
  disk_faults disk;      // of the folders of checkpoints
  disk_faults run_disk;  // of the run's own files
  std::vector<full_disk> full_disks;
  double fail_journal = 0;        // writes of the coordinator's journal that fail, room or not
  double power_fails = 0;         // share of the launcher's deaths that the machines share
  double spares_die = 0;          // share of them
  double spares_copy = 0;         // share that can
  bool may_fail = false;          // a job may end as failed; else all must be done
  std::optional<slow_plan> slow;  // and attribution is looked at
};

}  // namespace tidegate::sim
