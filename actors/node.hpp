// The main functions of the processes that `tidegate launch` starts. No CAF in sight: launch/
// calls these and links.
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
//   TIDEGATE_LINK_FAULTS=<seed> <drop> <duplicate> <delay> <ms>   runtime/transport/lossy_link
//   TIDEGATE_HEARTBEAT=<fd>:<ms>   runtime/heartbeat; without it the process is not watched
// and of workers: TIDEGATE_JOB=<name>, TIDEGATE_RANK=<0..>, TIDEGATE_INCARNATION=<1..>.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "policies/cluster_status.hpp"
#include "policies/process_name.hpp"
#include "policies/shard_group.hpp"
#include "policies/spec.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::actors {

inline constexpr const char* one_host_variable = "TIDEGATE_ONE_HOST";

struct node_options {
  std::string coordinator_host;
  std::uint16_t coordinator_port = 0;
  std::uint64_t token = 0;
  std::uint32_t index = 0;        // of the shard or aggregator
  policies::group_member member;  // of the shard's group; of an aggregator: incarnation
  std::string job;                // of the aggregator
  std::string run_dir;            // of shards: where checkpoints are
  policies::transport_kind transport = policies::transport_kind::automatic;
  std::uint32_t start_timeout_ms = 30'000;
};

// Blocks until told to stop by an observer. `on_ready` gets the port that the control plane
// listens on. Errors: unavailable (the port is in use).
// What a run is, to its coordinator. `epoch`: rises each time that everything begins again.
struct run_options {
  std::uint64_t token = 0;
  std::uint32_t epoch = 1;
  std::string run_dir;
  std::uint32_t life = 1;  // counts the coordinator's processes
};
runtime::status run_coordinator(const policies::cluster_spec& cluster, const run_options& run,
                                const std::function<void(std::uint16_t port)>& on_ready);

// Blocks until the coordinator says stop or is lost. Errors: unavailable (no coordinator, no
// transport).
runtime::status run_shard(const node_options& options);
// Where shards move: a process of a slot, which has whichever members of groups the coordinator
// wants. `index`: the slot; `member`: its place in it, and which life. Where a member fails, or
// is taken for dead, the process ends at once.
runtime::status run_shard_host(const node_options& options);
runtime::status run_aggregator(const node_options& options);

// The launcher's view of a running coordinator. One thread; every call is bounded by a
// time-out.
class observer {
 public:
  // Errors: unavailable, timed_out, refused.
  static runtime::expected<observer> connect(const node_options& options);

  observer(observer&&) noexcept;
  observer& operator=(observer&&) noexcept;
  ~observer();

  // Connects to the coordinator that is there now, which may have taken another's place; once a
  // call has failed with `unavailable`. Errors: unavailable (nobody listens).
  runtime::status reconnect();
  // `events_seen`: how many events the caller has; the answer carries those after.
  runtime::expected<policies::cluster_status> poll(std::uint64_t events_seen);
  // Ends the job as failed with this message; the launcher's word that a process of it died.
  runtime::status fail_job(const std::string& job, const std::string& why);
  // A worker has died and its job goes on without it. Errors: refused (it is the last one).
  runtime::status leave(const std::string& job, std::uint32_t rank);
  // So many workers are wanted. Errors: as coordinator_core::scale.
  runtime::status scale(const std::string& job, std::uint32_t workers);
  // So many slots of processes are to have the shards. Errors: as
  // coordinator_core::scale_shards.
  runtime::status scale_shards(std::uint32_t slots);
  // As coordinator_core::want_last_checkpoint.
  runtime::status want_last_checkpoint(const std::string& job);
  // This process of the cluster has ended, whatever the coordinator's connections say.
  runtime::status process_ended(const policies::process_name& name, std::uint32_t incarnation);
  // Asks coordinator and shards to exit. Returns once the coordinator has the message.
  runtime::status stop();

 private:
  class impl;
  explicit observer(std::unique_ptr<impl> self) noexcept;
  std::unique_ptr<impl> impl_;
};

}  // namespace tidegate::actors
