// The seam between the launcher and the cluster: what the processes run and how the launcher
// watches them. main.cpp binds it to actors/node/node.hpp; tests bind it to a cluster of their
// own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "actors/environment/node_options.hpp"
#include "launch/agents/agent_door.hpp"
#include "launch/run/run_monitor.hpp"
#include "policies/model/cluster_status.hpp"
#include "policies/model/spec.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::launch {

// A running coordinator as seen from the launcher; the calls of actors::observer. One thread.
class cluster_view {
 public:
  virtual ~cluster_view() = default;
  // As observer::reconnect.
  virtual runtime::status reconnect() = 0;
  virtual runtime::expected<policies::cluster_status> poll(std::uint64_t events_seen) = 0;
  virtual runtime::status fail_job(const std::string& job, const std::string& why) = 0;
  // As observer::leave.
  virtual runtime::status leave(const std::string& job, std::uint32_t rank) = 0;
  // As observer::scale.
  virtual runtime::status scale(const std::string& job, std::uint32_t workers) = 0;
  // As observer::scale_shards.
  virtual runtime::status scale_shards(std::uint32_t slots) = 0;
  // As observer::want_last_checkpoint.
  virtual runtime::status want_last_checkpoint(const std::string& job) = 0;
  // As observer::process_ended.
  virtual runtime::status process_ended(const policies::process_name& name,
                                        std::uint32_t incarnation) = 0;
  virtual runtime::status stop() = 0;
};

struct services {
  // As actors::run_coordinator, run_shard, run_shard_host, run_aggregator and
  // observer::connect; agents of hosts connect as members of the control plane do.
  std::function<runtime::status(const policies::cluster_spec&, const actors::run_options&,
                                const std::function<void(std::uint16_t)>& on_ready)>
      run_coordinator;
  std::function<runtime::status(const actors::node_options&)> run_shard;
  std::function<runtime::status(const actors::node_options&)> run_shard_host;
  std::function<runtime::status(const actors::node_options&)> run_aggregator;
  std::function<runtime::expected<std::unique_ptr<cluster_view>>(const actors::node_options&)>
      observe;
  agent_links agents;
  page_maker page = {};  // what a run shows in a browser, if it has a port for that
};

}  // namespace tidegate::launch
