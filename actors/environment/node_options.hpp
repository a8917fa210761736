// What a process of a cluster is told by its launcher. No CAF in sight: launch/ includes it.
//
// Environment of every node process and worker (set by the launcher):
//   TIDEGATE_COORDINATOR=host:port   control plane of the coordinator (not for the coordinator
//   itself) TIDEGATE_TOKEN=<16 hex digits>   drawn per run; a process with another token is
//   refused TIDEGATE_TRANSPORT=auto|shm|tcp|rdma  see docs/yaml.md
//   TIDEGATE_PROTOCOL=<n>   that the launcher speaks; a process built for another one refuses
//   TIDEGATE_HOST=<name>, TIDEGATE_ADDRESS=<address>   where the cluster names hosts
//   TIDEGATE_ONE_HOST=1   all processes of the cluster are on this host: nothing listens beyond
//   it TIDEGATE_START_TIMEOUT_MS=<ms>   cluster.start_timeout; 30,000 without it
//   TIDEGATE_UNREACHABLE_MS=<ms>   supervision.unreachable; 10,000 without it
//   TIDEGATE_LINK_FAULTS=<seed> <drop> <duplicate> <delay> <ms> <ms>
//   runtime/transport/lossy_link
//   TIDEGATE_SLOW=<factor> <clock> <clock>   of workers: policies/worker/slow_compute.hpp
//   TIDEGATE_HEARTBEAT=<fd>:<ms>   runtime/heartbeat; without it the process is not watched
//   TIDEGATE_STATE_FD=<fd>         runtime/process/state_file.hpp; without it a worker keeps
//   nothing
//   TIDEGATE_SPARE_FD=<fd>         runtime/process/spare.hpp: rank and what follows from it
//   come later
// and of workers: TIDEGATE_JOB=<name>, TIDEGATE_RANK=<0..>, TIDEGATE_INCARNATION=<1..>.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "policies/model/spec.hpp"
#include "policies/placement/replica_chain.hpp"

namespace tidegate::actors {

inline constexpr const char* one_host_variable = "TIDEGATE_ONE_HOST";

// Where a shard keeps and steps its parameters; see cluster_spec.
struct device_options {
  std::string name;               // empty: in the host's memory
  std::uint64_t memory = 0;       // bytes of it; 0: as many as it takes
  std::uint64_t chunk_bytes = 0;  // of the largest chunk
};

struct node_options {
  std::string coordinator_host;
  std::uint16_t coordinator_port = 0;
  std::uint64_t token = 0;
  bool encrypt = false;           // security.encrypt
  std::uint32_t index = 0;        // of the shard or aggregator
  policies::group_member member;  // of the shard's group; of an aggregator: incarnation
  std::string job;                // of the aggregator
  std::map<std::string, std::string> checkpoint_folders;  // of shards: by job
  std::string rows_dir;              // of shards: where rows are that do not fit their memory
  device_options device;             // of shards
  std::vector<std::string> plugins;  // of shards and aggregators: paths of shared libraries
  std::uint32_t plugin_timeout_ms = 10'000;
  policies::transport_kind transport = policies::transport_kind::automatic;
  std::uint32_t start_timeout_ms = 30'000;
  std::uint32_t disk_delay_ms = 0;  // of shards: faults.slow.*.disk_delay
};

// What a run is, to its coordinator. `epoch`: rises each time that everything begins again.
struct run_options {
  std::uint64_t token = 0;
  std::uint32_t epoch = 1;
  std::string run_dir;
  std::uint32_t incarnation = 1;  // counts the coordinator's processes
};

}  // namespace tidegate::actors
