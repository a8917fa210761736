// What the launcher of a run is to start, and by which rules it goes on when processes die.
// Plain values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policies/model/process_name.hpp"
#include "policies/model/spec.hpp"

namespace tidegate::policies {

struct launch_plan {
  struct job {
    std::string name;
    std::string policy;  // "bsp", as job_status has it
    std::uint32_t workers = 0;
    worker_loss_rule on_worker_loss = worker_loss_rule::fail;
    bool checkpoints = false;
    // Processes that are kept for workers that die, on each host of the job's workers.
    std::uint32_t spares = 0;
    std::vector<std::string> hosts = {};  // by rank, of all ranks that there is room for
  };
  // A host with an agent of its own.
  struct host {
    std::string name;
    std::optional<std::uint32_t> room;  // for processes of hosts that are lost; else for any
    std::string address = {};           // empty: it is no host of the cluster
  };
  std::vector<process_name> processes;  // in the order they are started, the coordinator first
  std::vector<job> jobs;
  // Empty: there is one. Processes are at home on these, by their names; those that are not
  // named, on the first.
  std::vector<host> hosts;
  std::map<std::string, host_number> homes;
  // Pairs of hosts of which the first has to reach the second (needed_reach()).
  std::set<std::pair<host_number, host_number>> must_reach = {};
  std::uint32_t start_timeout_ms = 30'000;
  std::string start_timeout_text = "30s";  // for messages
  supervision_spec supervision;
  // Every job has checkpoints. When a process dies whose place nobody takes, everything is
  // ended and started again, in the next epoch.
  bool goes_back = false;
  // Shards have replicas. A process of a shard that dies comes back as a replica.
  bool replicated = false;
  // Where shards move: the number of shards, of replicas of each, and of slots of processes
  // that are started first. 0: shards do not move.
  std::uint32_t shards = 0;
  std::uint32_t replicas = 0;
  std::uint32_t slots = 0;
  std::uint32_t epoch = 1;
  std::vector<std::string> cancelled = {};  // jobs, before the run was resumed

  // Returns the job of that name, or null; valid as long as this.
  const job* find_job(std::string_view name) const noexcept;
  // Returns the host of a worker by name; an empty text where the cluster names none.
  std::string host_of_worker(const std::string& job, std::uint32_t rank) const;
};

}  // namespace tidegate::policies
