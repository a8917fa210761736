// A whole cluster in this process for tests: real coordinator, shards, aggregators, reactors
// and sessions, each on threads of its own, over links that the test chooses.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actors/control/messages.hpp"
#include "actors/control/system.hpp"
#include "actors/reactor/reactor.hpp"
#include "policies/model/spec.hpp"
#include "runtime/device/device.hpp"
#include "runtime/process/state_file.hpp"
#include <tidegate/session.hpp>

namespace tidegate::tests {

class local_cluster {
 public:
  // `windows`: workers and shards read each other's memory, else all payload is sent.
  local_cluster(policies::cluster_spec spec, actors::link_factory make_link,
                bool windows = true);
  ~local_cluster();

  // How sessions that join from now on open a device.
  void set_devices(std::function<runtime::expected<std::unique_ptr<runtime::devices::device>>(
                       std::string_view)>
                       open) {
    open_device_ = std::move(open);
  }
  // Joins as a worker; blocks like session::connect.
  runtime::expected<tidegate::session> join(const std::string& job, std::uint32_t rank,
                                            std::uint32_t incarnation = 1);
  // Runs `body` for every rank of the job, each on its own thread; waits for all.
  void run_workers(const std::string& job, const std::function<void(tidegate::session&)>& body);
  policies::cluster_status status();
  // Ends coordinator and shards in good order, whatever workers are doing.
  void stop();
  // The coordinator dies; shards stay.
  void kill_coordinator();
  caf::actor_system& system() { return process_.get(); }
  actors::coordinator_actor coordinator() const { return coordinator_; }
  std::uint64_t token() const { return token_; }
  std::size_t aggregators() const { return shards_.size() - spec_.shards; }
  const std::string& shard_address(std::size_t shard) const { return homes_[shard]->address(); }

 private:
  actors::reactor& new_home();
  void join_aggregators(const policies::job_spec& job);
  // As of a launcher that keeps it over the incarnations of a worker. Any thread.
  runtime::expected<std::shared_ptr<runtime::state_file>> state_of(const std::string& job,
                                                                   std::uint32_t rank);

  policies::cluster_spec spec_;
  actors::link_factory make_link_;
  std::uint64_t host_;
  std::uint64_t token_ = 0x7469646567617465;
  actors::process_system process_;
  actors::coordinator_actor coordinator_;
  std::vector<std::unique_ptr<actors::reactor>> homes_;
  std::vector<actors::shard_actor> shards_;  // and after them the aggregators
  // What workers keep, by job and rank.
  std::mutex states_mutex_;
  std::map<std::pair<std::string, std::uint32_t>, runtime::state_file> states_;
  std::function<runtime::expected<std::unique_ptr<runtime::devices::device>>(std::string_view)>
      open_device_;
  bool stopped_ = false;
};

// A job of one table for tests.
policies::cluster_spec small_cluster(std::uint32_t shards, std::uint32_t workers,
                                     policies::consistency_spec consistency,
                                     std::uint64_t chunk_bytes = 256);

}  // namespace tidegate::tests
