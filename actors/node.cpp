#include "actors/node.hpp"

#include <chrono>
#include <memory>
#include <utility>

#include <caf/all.hpp>
#include <caf/io/all.hpp>

#include "actors/aggregator.hpp"
#include "actors/coordinator.hpp"
#include "actors/environment.hpp"
#include "actors/errors.hpp"
#include "actors/shard.hpp"
#include "actors/system.hpp"
#include "runtime/base/log.hpp"

namespace tidegate::actors {

using runtime::errc;
using runtime::expected;
using runtime::fail;
using runtime::status;

namespace log = runtime::log;

status run_coordinator(const policies::cluster_spec& cluster, const run_options& run,
                       const std::function<void(std::uint16_t port)>& on_ready) {
  log::start("coordinator");
  auto keeper = checkpoint_keeper::open(cluster, run.run_dir, run.epoch);
  if (!keeper) return keeper.error();
  process_system process;
  auto& system = process.get();
  auto coordinator = spawn_coordinator(system, cluster, run.token, std::move(*keeper));
  caf::scoped_actor self(system);
  const auto port = system.middleman().publish(coordinator, cluster.control_port,
                                               cluster.control_host.c_str(), true);
  if (!port) {
    self->send_exit(coordinator, caf::exit_reason::user_shutdown);
    self->wait_for(coordinator);
    return {errc::unavailable,
            "cannot listen on " + cluster.control_host + ":" +
                std::to_string(cluster.control_port) +
                ": is the port in use, or the address not of this host? (cluster.control)"};
  }
  log::info("control plane on " + cluster.control_host + ":" + std::to_string(*port));
  on_ready(*port);
  self->wait_for(coordinator);
  return {};
}

namespace {

// Blocks until the actor that `spawn` makes on a reactor has ended, or the coordinator is gone.
// `hello`: what it joins the cluster with, before its address and itself.
template <class Spawn, class... Hello>
status run_node(const node_options& options, const std::string& what, const Spawn& spawn,
                const Hello&... hello) {
  process_system process;
  auto& system = process.get();
  auto coordinator =
      connect_coordinator(system, options.coordinator_host, options.coordinator_port);
  if (!coordinator) return coordinator.error();
  auto home = reactor::start(system, make_own_link, shared_host());
  if (!home) return home.error();
  shard_actor node = spawn(**home, system, *coordinator);

  caf::scoped_actor self(system);
  status outcome;
  const auto patience = std::chrono::milliseconds(options.start_timeout_ms);
  self->request(*coordinator, patience, hello..., (*home)->address(),
                caf::actor_cast<caf::actor>(node))
      .receive(
          [](done_atom) {},
          [&](caf::error& why) { outcome = to_status(why, "joining the cluster as " + what); });
  if (outcome.ok()) {
    // It ends by itself when told to stop; without a coordinator nobody would tell it.
    // At the end of a run the coordinator goes, too, and its going may be known here first.
    constexpr auto word_on_its_way = std::chrono::milliseconds(300);
    self->monitor(*coordinator);
    self->monitor(node);
    bool node_down = false;
    const auto note = [&](const caf::down_msg& down) {
      node_down = node_down || down.source == node->address();
    };
    self->receive(note);
    if (!node_down)
      self->receive(
          note, caf::after(word_on_its_way) >> [] {});
    if (!node_down) outcome = {errc::unavailable, "the coordinator is gone"};
  }
  self->send_exit(node, caf::exit_reason::user_shutdown);
  self->wait_for(node);
  node = nullptr;
  return outcome;
}

}  // namespace

status run_shard(const node_options& options) {
  const auto index = options.index;
  log::start((options.member.number == 0 ? "shard-" : "replica-") + std::to_string(index));
  return run_node(
      options, "shard " + std::to_string(index),
      [&](reactor& home, caf::actor_system& system, const coordinator_actor& coordinator) {
        return spawn_on<actors::shard>(
            home, system, index, shard_keeping{options.run_dir, coordinator, options.token});
      },
      shard_atom::value, options.token, index, options.member.number,
      options.member.incarnation);
}

status run_aggregator(const node_options& options) {
  const auto index = options.index;
  log::start("aggregator-" + options.job + "-" + std::to_string(index));
  return run_node(
      options, "aggregator " + std::to_string(index) + " of job " + options.job,
      [&](reactor& home, caf::actor_system& system, const coordinator_actor&) {
        return spawn_on<aggregator>(home, system);
      },
      aggregator_atom::value, options.token, options.job, index);
}

class observer::impl {
 public:
  impl() : self(process.get()) {}

  template <class T, class... Ts>
  expected<T> ask(const std::string& doing, const Ts&... xs) {
    constexpr auto patience = std::chrono::milliseconds(1000);
    expected<T> result = fail(errc::unavailable, doing);
    self->request(coordinator, patience, xs...)
        .receive([&](T& value) { result = std::move(value); },
                 [&](caf::error& why) { result = fail(to_status(why, doing)); });
    return result;
  }

  process_system process;
  caf::scoped_actor self;
  coordinator_actor coordinator;
  std::uint64_t token = 0;
};

observer::observer(std::unique_ptr<impl> self) noexcept : impl_(std::move(self)) {}
observer::observer(observer&&) noexcept = default;
observer& observer::operator=(observer&&) noexcept = default;
observer::~observer() = default;

expected<observer> observer::connect(const node_options& options) {
  auto made = std::make_unique<impl>();
  made->token = options.token;
  auto coordinator = connect_coordinator(made->process.get(), options.coordinator_host,
                                         options.coordinator_port);
  if (!coordinator) return fail(coordinator.error());
  made->coordinator = *coordinator;
  return observer(std::move(made));
}

expected<policies::cluster_status> observer::poll(std::uint64_t events_seen) {
  return impl_->ask<policies::cluster_status>("asking the coordinator for the cluster's state",
                                              status_atom::value, impl_->token, events_seen);
}

status observer::fail_job(const std::string& job, const std::string& why) {
  auto told = impl_->ask<done_atom>("telling the coordinator that job " + job + " failed",
                                    fail_atom::value, impl_->token, job, why);
  return told ? status() : told.error();
}

status observer::stop() {
  auto told =
      impl_->ask<done_atom>("telling the coordinator to stop", stop_atom::value, impl_->token);
  return told ? status() : told.error();
}

}  // namespace tidegate::actors
