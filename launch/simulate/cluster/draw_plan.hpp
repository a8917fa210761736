// From a scenario and a seed to one cluster. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launch/simulate/cluster/plan.hpp"

namespace tidegate::sim {

template <class Number>
struct range {
  Number low{};
  Number high{};
};

// What a family of clusters has in common; see launch/simulate/scenarios.
struct scenario {
  std::string name;
  std::uint32_t weight = 1;  // in the standard mix; 0: only by its name
  range<std::uint32_t> shards{1, 3};
  std::uint32_t replicas = 0;             // of each shard
  range<std::uint32_t> max_shards{0, 0};  // 0: they do not move
  range<std::uint32_t> moves{0, 0};       // how often another number of shards is wanted
  range<std::uint32_t> workers{1, 5};
  range<std::uint32_t> hosts{1, 2};
  range<std::uint32_t> hosts_of_rack{0, 0};  // 0: no host has a rack
  double opened_in_turns = 0;                // share of clusters: tables, a chunk in each
  range<std::uint32_t> jobs{1, 1};
  range<std::uint32_t> cancellations{0, 0};  // of jobs
  range<std::uint32_t> tables{1, 3};
  range<std::uint64_t> elements{1, 60};
  range<std::uint64_t> clocks{2, 8};
  // Above 0 in place of `tables`, and of `elements` in chunks of 16: as often 1 to 10 as 1,000
  // to 10,000.
  std::uint32_t tables_up_to = 0;
  std::uint32_t chunks_up_to = 0;
  std::vector<policies::consistency_spec> policies;
  std::vector<policies::aggregators_spec> aggregators;
  std::vector<worker_way> ways{worker_way::pull_push, worker_way::overlapped,
                               worker_way::exchange};
  double windows = 0.7;  // share of clusters in which processes of a host share memory
  double created = 0;    // share of tables that the cluster does not know beforehand
  double skip = 0;
  double pause = 0;
  nanoseconds pause_max = 0;
  double slow_workers = 0;  // share of jobs with one that computes up to 20 times as long
  network_faults faults;
  nanoseconds faults_last = 2 * second;
  range<std::uint32_t> partitions{0, 0};
  nanoseconds partition_max = 100 * millisecond;
  range<std::uint32_t> breaks{0, 0};          // of connections between the living
  nanoseconds break_max = 100 * millisecond;  // until another can be made, at most
  double one_way = 0;                         // share of breaks
  double silent_breaks = 0;                   // likewise
  double lasting_breaks = 0;                  // likewise: none can be made while both live
  double same_link = 0;                       // likewise: of the link that broke before
  range<std::uint32_t> control_breaks{0, 0};  // of the coordinator's, to the living
  nanoseconds control_break_max = second;     // until another can be made, at most
  double lasting_control_breaks = 0;          // share of those of members that stay broken
  double control_one_way = 0;                 // share of those of which one side hears late
  range<std::uint32_t> unreachable_ms{10'000, 10'000};  // supervision.unreachable
  range<std::uint32_t> deaths{0, 0};
  double come_back = 1;  // share of jobs whose workers are started again
  double shrink = 0;     // share of the others that go on without them
  range<std::uint32_t> scalings{0, 0};
  std::uint32_t joiners = 0;  // room for so many workers more than the job begins with
  nanoseconds deaths_within = 300 * millisecond;
  std::uint32_t shard_deaths_max = ~0U;  // the others are of those who die beside them
  double taken_for_dead = 0;             // share of the deaths of shards
  nanoseconds cut_off_max = 300 * millisecond;
  double together = 0;  // share of the deaths that follow the one before within a moment
  nanoseconds together_within = 10 * millisecond;
  std::vector<role> mortal{role::worker, role::shard, role::aggregator, role::coordinator};
  double ranges = 0;                         // share of jobs that push and pull ranges
  double rows = 0;                           // share of jobs that have tables of rows
  double lifetimes = 0;                      // share of these whose rows come and go
  double ahead = 0;                          // share of jobs that pull rows ahead of their use
  double reductions = 0;                     // share of jobs whose tables are not summed
  double calls = 0;                          // share of jobs that call functions
  double clips = 0;                          // share of jobs that may, and clip by the norm
  double on_devices = 0;                     // share of clusters whose shards step on devices
  double devices_lost = 0;                   // share of those devices that are lost soon
  double keeping = 0;                        // share of jobs whose workers keep state
  range<std::uint32_t> mirror_every{0, 0};   // jobs.*.state.mirror_every
  range<std::uint32_t> commit_deaths{0, 0};  // of workers, in the middle of a commit
  range<std::uint32_t> spares{0, 0};         // that a job keeps on each host of its workers
  double spares_die = 0;                     // share of those without a place
  range<std::uint32_t> host_faults{0, 0};    // of hosts that have agents of their own, if any
  nanoseconds host_fault_max = 20 * second;
  double cut_hosts = 0;    // share of those that live, and are out of reach
  double hosts_apart = 0;  // share of clusters of which two do not reach each other
  double small_hosts = 0;  // share of hosts that have room for few of others' processes
  range<std::uint32_t> stalls{0, 0};
  nanoseconds stall_max = second;
  std::vector<role> stalling{role::worker, role::shard, role::aggregator};
  range<std::uint32_t> spawns_fail{0, 0};  // of the first processes that are started again
  range<std::uint64_t> checkpoints{0, 0};  // every so many clocks; 0: none
  range<std::uint32_t> full_every{1, 1};   // one of so many has all rows
  disk_faults disk;
  double power_fails = 0;
  disk_faults run_disk;
  double fail_journal = 0;
  range<std::uint32_t> full_disks{0, 0};  // how often the disk of the run folder is full
  nanoseconds full_max = second;
  double full_stays = 0;  // share of those that stay full
  double clock_skew = 0;
  double strangers = 0;
  double no_memory = 0;
  double no_window = 0;
  bool may_fail = false;
  std::vector<slow_kind> slow;  // causes of slowness; empty: nobody looks at attribution
};

cluster_plan draw_plan(const scenario& of, std::uint64_t seed);

}  // namespace tidegate::sim
