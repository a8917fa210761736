// A process of a slot of shards that move (policies/placement/shard_map): it has a member of
// the group of each shard that the coordinator wants there, each with a link and a thread of
// its own.
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include <caf/all.hpp>

#include "actors/control/ask_coordinator.hpp"
#include "actors/control/coordinator_locator.hpp"
#include "actors/control/membership.hpp"
#include "actors/control/system.hpp"
#include "actors/environment/environment.hpp"
#include "actors/environment/own_link.hpp"
#include "actors/node/node.hpp"
#include "actors/node/shard_actor.hpp"
#include "policies/protocol/handshake.hpp"
#include "runtime/base/log.hpp"

namespace tidegate::actors {

namespace {

using policies::hosted_member;
using runtime::errc;
using runtime::status;

namespace log = runtime::log;

std::string to_text(const hosted_member& hosted) {
  return "shard " + std::to_string(hosted.shard) + " (member " +
         std::to_string(hosted.member.number) + ", incarnation " +
         std::to_string(hosted.member.incarnation) + ")";
}

// One member, from its beginning to its end, which the process hears of as a message. Its
// thread joins the coordinator for it.
class hosted {
 public:
  hosted(caf::actor_system& system, std::shared_ptr<coordinator_locator> place,
         const node_options& options, const hosted_member& key, caf::actor actor)
      : thread_(
            [this, &system, place = std::move(place), options, key, actor = std::move(actor)] {
              bool in_order = false;
              auto result = run(system, place, options, key, in_order);
              caf::anon_send(
                  actor, member_ended_event{
                             .member = key, .result = std::move(result), .in_order = in_order});
            }) {}
  ~hosted() {
    if (thread_.joinable()) thread_.join();
  }
  hosted(const hosted&) = delete;
  hosted& operator=(const hosted&) = delete;

  // In order; soon, if it is only beginning.
  void stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    if (node_) caf::anon_send(node_, stop_atom::value);
  }

 private:
  status run(caf::actor_system& system, const std::shared_ptr<coordinator_locator>& place,
             const node_options& options, const hosted_member& key, bool& in_order) {
    auto home = reactor::start(system, make_own_link, shared_host());
    if (!home) return home.error();
    const auto node = spawn_on<shard>(
        **home, system, key.shard,
        shard_keeping{.checkpoint_folders = options.checkpoint_folders,
                      .disk_delay = std::chrono::milliseconds(options.disk_delay_ms),
                      .rows_dir = options.rows_dir,
                      .coordinator = place,
                      .token = options.token,
                      .device = options.device});
    membership member(system, *place, node);
    begun(node);
    auto outcome = member.serve(options.start_timeout_ms, to_text(key), (*home)->address(),
                                shard_atom::value, options.token, key.shard, key.member.number,
                                key.member.incarnation);
    in_order = member.ended_in_order();
    over();
    member.end();
    return outcome;
  }
  void begun(const shard_actor& node) {
    const std::lock_guard lock(mutex_);
    node_ = node;
    if (stopped_) caf::anon_send(node_, stop_atom::value);
  }
  void over() {
    const std::lock_guard lock(mutex_);
    node_ = nullptr;
  }

  std::mutex mutex_;
  shard_actor node_;
  bool stopped_ = false;
  std::thread thread_;  // the last: it uses the others
};

class shard_host {
 public:
  explicit shard_host(const node_options& options)
      : options_(options),
        process_(options.token, options.encrypt),
        place_(std::make_shared<coordinator_locator>(
            process_.control(), options.coordinator_host, options.coordinator_port)),
        self_(process_.get()) {
    options_.token = policies::message_token(options.token);
  }

  status run() {
    if (auto found = place_->find(options_.start_timeout_ms); !found) return found.error();
    membership_shell shell(options_.start_timeout_ms);
    const auto served = carry_out(shell, shell.begin(runtime::steady_now()), *this);
    if (!served.ok()) give_up(served);
    return {};
  }

  // Steps of the shell.
  bool is_over() const noexcept { return ending_ && members_.empty(); }
  status find() {
    auto found = place_->find();
    if (!found) return found.error();
    found_ = std::move(*found);
    return {};
  }
  status join() {
    hosted_members has;
    for (const auto& [hosted, entry] : members_) has.push_back(hosted);
    const auto answer = ask_coordinator<done_atom>(
        self_, found_, no_limit,
        "joining the cluster as a process of slot " + std::to_string(options_.index),
        host_atom::value, options_.token, options_.index, options_.member.number,
        options_.member.incarnation, has, caf::actor_cast<caf::actor>(self_));
    return answer ? status() : answer.error();
  }
  void rest(std::int64_t most_ns) { hear(most_ns); }
  void stay() {
    gone_ = nullptr;  // the same coordinator may have been lost before
    self_->monitor(found_);
    while (!is_over() && gone_ != found_->address()) hear();
  }

 private:
  // Others take its place, and none of its members is to be served by two. Threads of theirs
  // may wait for somebody.
  [[noreturn]] static void give_up(const status& why) {
    log::error(why.to_string());
    std::_Exit(EXIT_FAILURE);
  }

  // One message; or none within so long.
  void hear(std::int64_t most_ns = 3'600'000'000'000) {
    self_->receive([this](const policies::host_call& call) { take(call); },
                   [this](const member_ended_event& event) { ended(event); },
                   [this](const caf::down_msg& down) { gone_ = down.source; },
                   [this](stop_atom) { stop(); },
                   caf::after(std::chrono::nanoseconds(most_ns)) >> [] {});
  }

  void take(const policies::host_call& call) {
    for (const auto& member : call.members) {
      if (ending_ || members_.contains(member)) continue;
      log::info("has " + to_text(member) + " from now on");
      members_.emplace(member,
                       std::make_unique<hosted>(process_.get(), place_, options_, member,
                                                caf::actor_cast<caf::actor>(self_)));
    }
  }

  void ended(const member_ended_event& event) {
    members_.erase(event.member);
    if (!event.in_order && !ending_)
      give_up(event.result.ok()
                  ? status(errc::cancelled, to_text(event.member) + " was taken for dead")
                  : event.result);
    log::info("has " + to_text(event.member) + " no more");
    self_->send(found_, gone_atom::value, options_.token, event.member);
  }

  void stop() {
    ending_ = true;
    for (auto& [hosted, entry] : members_) entry->stop();
  }

  node_options options_;
  process_system process_;
  std::shared_ptr<coordinator_locator> place_;
  caf::scoped_actor self_;
  coordinator_actor found_;
  caf::actor_addr gone_;
  bool ending_ = false;
  std::map<hosted_member, std::unique_ptr<hosted>> members_;
};

}  // namespace

status run_shard_host(const node_options& options) {
  if (auto loaded = load_plugins(options); !loaded.ok()) return loaded;
  return shard_host(options).run();
}

}  // namespace tidegate::actors
