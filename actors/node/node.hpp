// The main functions of the processes that `tidegate launch` starts. No CAF in sight: launch/
// calls these and links.
//
// actors/environment/node_options.hpp lists the environment of these processes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "actors/environment/node_options.hpp"
#include "policies/model/cluster_status.hpp"
#include "policies/model/process_name.hpp"
#include "policies/model/spec.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::actors {

// Blocks until told to stop by an observer. `on_ready` gets the port that the control plane
// listens on. Errors: unavailable (the port is in use).
runtime::status run_coordinator(const policies::cluster_spec& cluster, const run_options& run,
                                const std::function<void(std::uint16_t port)>& on_ready);

// Blocks until the coordinator says stop or is lost. Errors: unavailable (no coordinator, no
// transport).
runtime::status run_shard(const node_options& options);
// Where shards move: a process of a slot, which has whichever members of groups the coordinator
// wants. `index`: the slot; `member`: its place in it, and which incarnation. Where a member
// fails, or is taken for dead, the process ends at once.
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
