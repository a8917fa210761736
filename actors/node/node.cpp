#include "actors/node/node.hpp"

#include <chrono>
#include <memory>
#include <utility>

#include <caf/all.hpp>
#include <caf/io/all.hpp>

#include "actors/control/ask_coordinator.hpp"
#include "actors/control/coordinator_locator.hpp"
#include "actors/control/errors.hpp"
#include "actors/control/membership.hpp"
#include "actors/control/system.hpp"
#include "actors/environment/environment.hpp"
#include "actors/environment/own_link.hpp"
#include "actors/node/aggregator_actor.hpp"
#include "actors/node/coordinator_actor.hpp"
#include "actors/node/journal_keeper.hpp"
#include "actors/node/shard_actor.hpp"
#include "policies/protocol/handshake.hpp"
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
  auto journal = open_journal(cluster, run.run_dir, run.epoch);
  if (!journal) return journal.error();
  auto keeper = checkpoint_keeper::open(cluster, run.run_dir, run.epoch,
                                        !journal->before.run.has_value());
  if (!keeper) return keeper.error();
  process_system process(run.token, cluster.security.encrypt);
  auto& system = process.get();
  const auto token = policies::message_token(run.token);
  auto coordinator = spawn_coordinator(system, cluster, token, std::move(*keeper),
                                       std::move(*journal), run.incarnation);
  caf::scoped_actor self(system);
  self->monitor(coordinator);
  const auto port =
      process.control().publish(coordinator, cluster.control_host, cluster.control_port);
  if (!port) {
    self->send_exit(coordinator, caf::exit_reason::user_shutdown);
    self->wait_for(coordinator);
    return {errc::unavailable,
            "cannot listen on " + cluster.control_host + ":" +
                std::to_string(cluster.control_port) +
                ": is the port in use, or the address not of this host? (cluster.control) " +
                port.error().message()};
  }
  log::info("control plane on " + cluster.control_host + ":" + std::to_string(*port));
  on_ready(*port);
  status outcome;
  self->receive([&](const caf::down_msg& down) {
    if (down.reason) outcome = to_status(down.reason, "the coordinator has ended");
  });
  return outcome;
}

namespace {

// Blocks until the actor that `spawn` makes on a reactor has ended, or the coordinator is gone
// and does not come back.
template <class Spawn, class... Hello>
status run_node(const node_options& options, const std::string& subject, const Spawn& spawn,
                const Hello&... hello) {
  if (auto loaded = load_plugins(options); !loaded.ok()) return loaded;
  process_system process(options.token, options.encrypt);
  auto& system = process.get();
  auto place = std::make_shared<coordinator_locator>(
      process.control(), options.coordinator_host, options.coordinator_port);
  const auto give_up_ms = options.start_timeout_ms;
  if (auto found = place->find(give_up_ms); !found) return found.error();
  auto home = reactor::start(system, make_own_link, shared_host());
  if (!home) return home.error();
  membership member(system, *place, spawn(**home, system, place));
  auto outcome = member.serve(give_up_ms, subject, (*home)->address(), hello...);
  member.end();
  return outcome;
}

}  // namespace

status run_shard(const node_options& options) {
  const auto index = options.index;
  const auto token = policies::message_token(options.token);
  const auto is_replica = options.member.number > 0;
  return run_node(
      options, (is_replica ? "a replica of shard " : "shard ") + std::to_string(index),
      [&](reactor& home, caf::actor_system& system, const auto& coordinator) {
        return spawn_on<actors::shard>(
            home, system, index,
            shard_keeping{.checkpoint_folders = options.checkpoint_folders,
                          .disk_delay = std::chrono::milliseconds(options.disk_delay_ms),
                          .rows_dir = options.rows_dir,
                          .coordinator = coordinator,
                          .token = token,
                          .device = options.device});
      },
      shard_atom::value, token, index, options.member.number, options.member.incarnation);
}

status run_aggregator(const node_options& options) {
  const auto index = options.index;
  const auto token = policies::message_token(options.token);
  log::start("aggregator-" + options.job + "-" + std::to_string(index));
  return run_node(
      options, "aggregator " + std::to_string(index) + " of job " + options.job,
      [&](reactor& home, caf::actor_system& system, const auto& coordinator) {
        return spawn_on<aggregator>(home, system, coordinator, token);
      },
      aggregator_atom::value, token, options.job, index, options.member.incarnation);
}

class observer::impl {
 public:
  impl(std::uint64_t run_token, bool encrypt)
      : process(run_token, encrypt),
        self(process.get()),
        token(policies::message_token(run_token)) {}

  template <class T, class... Ts>
  expected<T> ask(const std::string& doing, const Ts&... xs) {
    const caf::duration time_limit(std::chrono::milliseconds(1000));
    return ask_coordinator<T>(self, place->now(), time_limit, doing, xs...);
  }

  process_system process;
  caf::scoped_actor self;
  std::unique_ptr<coordinator_locator> place;
  std::uint64_t token;
};

observer::observer(std::unique_ptr<impl> self) noexcept : impl_(std::move(self)) {}
observer::observer(observer&&) noexcept = default;
observer& observer::operator=(observer&&) noexcept = default;
observer::~observer() = default;

expected<observer> observer::connect(const node_options& options) {
  auto result = std::make_unique<impl>(options.token, options.encrypt);
  result->place = std::make_unique<coordinator_locator>(
      result->process.control(), options.coordinator_host, options.coordinator_port);
  if (auto found = result->place->find(); !found) return fail(found.error());
  return observer(std::move(result));
}

status observer::reconnect() {
  const auto found = impl_->place->find();
  return found ? status() : found.error();
}

expected<policies::cluster_status> observer::poll(std::uint64_t events_seen) {
  return impl_->ask<policies::cluster_status>("asking the coordinator for the cluster's state",
                                              status_atom::value, impl_->token, events_seen);
}

status observer::fail_job(const std::string& job, const std::string& why) {
  auto answer = impl_->ask<done_atom>("telling the coordinator that job " + job + " failed",
                                      fail_atom::value, impl_->token, job, why);
  return answer ? status() : answer.error();
}

status observer::leave(const std::string& job, std::uint32_t rank) {
  auto answer = impl_->ask<done_atom>("telling the coordinator that rank " +
                                          std::to_string(rank) + " of job " + job + " leaves",
                                      leave_atom::value, impl_->token, job, rank);
  return answer ? status() : answer.error();
}

status observer::scale(const std::string& job, std::uint32_t workers) {
  auto answer =
      impl_->ask<done_atom>("telling the coordinator how many workers job " + job + " has",
                            scale_atom::value, impl_->token, job, workers);
  return answer ? status() : answer.error();
}

status observer::want_last_checkpoint(const std::string& job) {
  auto answer = impl_->ask<done_atom>("asking for a last checkpoint of job " + job,
                                      save_atom::value, impl_->token, job);
  return answer ? status() : answer.error();
}

status observer::scale_shards(std::uint32_t slots) {
  auto answer = impl_->ask<done_atom>("telling the coordinator how many shards there are",
                                      scale_atom::value, impl_->token, slots);
  return answer ? status() : answer.error();
}

status observer::process_ended(const policies::process_name& name, std::uint32_t incarnation) {
  auto answer = impl_->ask<done_atom>(
      "telling the coordinator that " + name.to_string() + " has ended", gone_atom::value,
      impl_->token, static_cast<std::uint32_t>(name.role), name.job, name.index, incarnation);
  return answer ? status() : answer.error();
}

status observer::stop() {
  auto answer =
      impl_->ask<done_atom>("telling the coordinator to stop", stop_atom::value, impl_->token);
  return answer ? status() : answer.error();
}

}  // namespace tidegate::actors
