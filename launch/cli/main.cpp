// `tidegate`: the command line bound to the real cluster.
#include <string>
#include <utility>
#include <vector>

#include "actors/control/connection.hpp"
#include "actors/control/gate.hpp"
#include "actors/control/reach_peers.hpp"
#include "actors/node/node.hpp"
#include "launch/bench/bench.hpp"
#include "launch/chaos/chaos.hpp"
#include "launch/cli/manual_command.hpp"
#include "launch/cli/pages.hpp"
#include "launch/cli/program.hpp"
#include "launch/door/door_command.hpp"
#include "launch/kubernetes/render_command.hpp"
#include "launch/page/page_documents.hpp"
#include "launch/processes/inheritance.hpp"
#include "launch/simulate/simulate.hpp"
#include "runtime/sockets/tcp_socket.hpp"

namespace {

using tidegate::actors::control_gate;
using tidegate::actors::control_options;
using tidegate::actors::node_options;
using tidegate::actors::observer;
using tidegate::launch::agent_door;
using tidegate::launch::agent_link_options;
using tidegate::launch::cluster_view;
namespace runtime = tidegate::runtime;

class observer_view final : public cluster_view {
 public:
  explicit observer_view(observer self) : self_(std::move(self)) {}

  runtime::status reconnect() override { return self_.reconnect(); }
  runtime::expected<tidegate::policies::cluster_status> poll(std::uint64_t seen) override {
    return self_.poll(seen);
  }
  runtime::status fail_job(const std::string& job, const std::string& why) override {
    return self_.fail_job(job, why);
  }
  runtime::status leave(const std::string& job, std::uint32_t rank) override {
    return self_.leave(job, rank);
  }
  runtime::status scale(const std::string& job, std::uint32_t workers) override {
    return self_.scale(job, workers);
  }
  runtime::status scale_shards(std::uint32_t slots) override {
    return self_.scale_shards(slots);
  }
  runtime::status want_last_checkpoint(const std::string& job) override {
    return self_.want_last_checkpoint(job);
  }
  runtime::status process_ended(const tidegate::policies::process_name& name,
                                std::uint32_t incarnation) override {
    return self_.process_ended(name, incarnation);
  }
  runtime::status stop() override { return self_.stop(); }

 private:
  observer self_;
};

runtime::expected<std::unique_ptr<cluster_view>> observe(const node_options& options) {
  auto connected = observer::connect(options);
  if (!connected) return runtime::fail(connected.error());
  return std::make_unique<observer_view>(std::move(*connected));
}

class gate_door final : public agent_door {
 public:
  gate_door(std::unique_ptr<control_gate> gate, std::uint16_t port)
      : gate_(std::move(gate)), proven_(gate_->release_proven()), port_(port) {}
  // Connections that nobody has taken are closed.
  ~gate_door() override {
    gate_.reset();
    while (take()) {
    }
  }

  std::uint16_t port() const override { return port_; }
  int fd() const override { return proven_.get(); }
  runtime::unique_fd take() override { return control_gate::take(proven_.get()); }

 private:
  std::unique_ptr<control_gate> gate_;
  runtime::unique_fd proven_;
  std::uint16_t port_;
};

control_options options_of(const agent_link_options& options) {
  return {.token = options.token,
          .unreachable_ms = options.unreachable_ms,
          .encrypt = options.encrypt,
          .listener = options.listener};
}

runtime::expected<std::unique_ptr<agent_door>> listen_for_agents(
    const std::string& host, std::uint16_t port, const agent_link_options& options) {
  auto listener = runtime::listen_on(host, port);
  if (!listener) return runtime::fail(listener.error());
  const auto bound = runtime::port_of(listener->get());
  auto gate = control_gate::open(std::move(*listener), options_of(options));
  if (!gate) return runtime::fail(gate.error());
  return std::make_unique<gate_door>(std::move(*gate), bound);
}

runtime::expected<runtime::unique_fd> connect_to_launcher(const std::string& host,
                                                          std::uint16_t port,
                                                          const agent_link_options& options) {
  return tidegate::actors::connect_proven(host, port, options_of(options));
}

std::vector<tidegate::policies::unreached_host> reach_agents(
    const std::vector<tidegate::policies::peer_place>& peers, std::uint64_t token, int stop) {
  return tidegate::actors::reach_peers(peers, token, stop);
}

}  // namespace

int main(int argc, char** argv) {
  tidegate::launch::put_inheritance_right();
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (tidegate::bench::is_bench(args)) return tidegate::bench::run_bench(args);
  if (tidegate::chaos::is_chaos(args)) return tidegate::chaos::run_chaos(args);
  if (tidegate::launch::is_door_command(args)) return tidegate::launch::run_door_command(args);
  if (tidegate::launch::is_render_command(args))
    return static_cast<int>(tidegate::launch::run_render_command(args));
  if (tidegate::simulate::is_simulate(args)) return tidegate::simulate::run_simulate(args);
  if (tidegate::launch::is_manual_command(args))
    return tidegate::launch::run_manual_command(args, tidegate::launch::all_pages());
  return tidegate::launch::run_program(args,
                                       {.run_coordinator = tidegate::actors::run_coordinator,
                                        .run_shard = tidegate::actors::run_shard,
                                        .run_shard_host = tidegate::actors::run_shard_host,
                                        .run_aggregator = tidegate::actors::run_aggregator,
                                        .observe = observe,
                                        .agents = {.listen = listen_for_agents,
                                                   .connect = connect_to_launcher,
                                                   .reach = reach_agents},
                                        .page = tidegate::launch::page_documents});
}
