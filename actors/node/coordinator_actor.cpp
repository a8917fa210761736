#include "actors/node/coordinator_actor.hpp"

#include <chrono>
#include <cstdlib>
#include <utility>
#include <variant>

#include "actors/control/ask_coordinator.hpp"
#include "actors/environment/node_options.hpp"
#include "actors/environment/own_link.hpp"
#include "actors/node/coordinator_state.hpp"
#include "actors/reactor/peer_address.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/unix_time.hpp"
#include "runtime/process/process_mark.hpp"

namespace tidegate::actors {

using policies::call_id;
using runtime::status;

control_sender coordinator::from(std::uint64_t token) {
  const auto& asker = current_sender();
  return {token, asker ? process_of(asker->node()) : 0};
}

std::uint64_t coordinator::process_of(const caf::node_id& node) {
  if (node == system().node()) return 0;
  const auto [at, is_new] = processes_.try_emplace(node, last_number_ + 1);
  if (is_new) ++last_number_;
  return at->second;
}

control_peer coordinator::peer(const caf::actor& member) {
  const auto* const proxy = caf::actor_cast<caf::strong_actor_ptr>(member).get();
  const auto process = process_of(member.node());
  const auto [at, is_new] = handles_.try_emplace(proxy, last_number_ + 1);
  if (is_new) {
    forget_unknown();
    actors_.emplace(++last_number_, member);
  }
  return {at->second, process};
}

// A connection that breaks again and again leaves a handle each time.
void coordinator::forget_unknown() {
  if (actors_.size() < forget_at_) return;
  std::erase_if(actors_, [this](const auto& known) { return !shell_.knows(known.first); });
  std::erase_if(handles_, [this](const auto& known) {
    return known.second <= last_number_ && !actors_.contains(known.second);
  });
  forget_at_ = 2 * actors_.size() + 64;
}

void coordinator::on_down(const caf::down_msg& down) {
  const auto at = handles_.find(caf::actor_cast<caf::strong_actor_ptr>(down.source).get());
  if (at == handles_.end()) return;
  const bool broke = down.reason == caf::exit_reason::remote_link_unreachable;
  shell_.connection_lost(at->second, broke, system().render(down.reason));
}

void coordinator::log_error(const std::string& line) {
  runtime::log::error(line);
}

std::int64_t coordinator::unix_now() const {
  return runtime::unix_now();
}

std::int64_t coordinator::steady_now() const {
  return runtime::steady_now();
}

void coordinator::watch(const control_peer& member) {
  monitor(actors_.at(member.handle));
}

void coordinator::call(const control_peer& to, call_id call,
                       const policies::shard_call& content) {
  const auto shard = caf::actor_cast<shard_actor>(actors_.at(to.handle));
  const auto numbered = [this, call](std::uint64_t number) {
    shell_.call_answered(call, {.result = {}, .number = number, .clocks = {}});
  };
  const auto summed = [this, call](const chunk_clocks& clocks) {
    shell_.call_answered(call, {.result = {}, .number = 0, .clocks = clocks});
  };
  const auto failed = [this, call](const caf::error& why) {
    if (!is_lost(why))
      shell_.call_answered(call,
                           {.result = to_status(why, "a call"), .number = 0, .clocks = {}});
  };
  std::visit(
      [&](const auto& question) {
        using call_type = std::decay_t<decltype(question)>;
        // A table may be large, and a replica is handed everything before it answers: a call
        // ends with its answer or with the process, and is repeated over another connection.
        auto asked = request(shard, no_limit, question);
        if constexpr (std::is_same_v<call_type, policies::sum_progress_call>)
          asked.then(summed, failed);
        else if constexpr (std::is_same_v<call_type, policies::admit_worker_call> ||
                           std::is_same_v<call_type, policies::shut_out_call> ||
                           std::is_same_v<call_type, policies::join_barrier_call> ||
                           std::is_same_v<call_type, policies::checkpoint_call>)
          asked.then(numbered, failed);
        else
          asked.then([numbered](done_atom) { numbered(0); }, failed);
      },
      content);
}

// Handles have a type for the compiler alone: aggregators hear of moves, too, and shards are
// stopped.
void coordinator::tell(const control_peer& to, const policies::shard_moved& moved) {
  send(caf::actor_cast<worker_actor>(actors_.at(to.handle)), moved);
}

void coordinator::tell(const control_peer& to, const policies::host_call& call) {
  send(caf::actor_cast<shard_host_actor>(actors_.at(to.handle)), call);
}

void coordinator::stop(const control_peer& member) {
  send(caf::actor_cast<shard_host_actor>(actors_.at(member.handle)), stop_atom::value);
}

void coordinator::expel(const control_peer& member, const status& why) {
  send_exit(actors_.at(member.handle), to_error(why));
}

bool coordinator::may_live(const std::string& address) const {
  const bool is_here = std::getenv(one_host_variable) != nullptr ||
                       share_memory(peer_address(shared_host(), ""), address);
  return !is_here || runtime::is_running(actors::process_of(address));
}

void coordinator::look_in(std::int64_t pause_ns) {
  delayed_send(this, std::chrono::nanoseconds(pause_ns), look_atom::value);
}

void coordinator::end(const status& why) {
  why.ok() ? quit() : quit(to_error(why));
}

coordinator_actor spawn_coordinator(caf::actor_system& system,
                                    const policies::cluster_spec& cluster, std::uint64_t token,
                                    checkpoint_keeper keeper, kept_journal journal,
                                    std::uint32_t incarnation) {
  return system.spawn<coordinator>(
      cluster, token,
      std::make_shared<coordinator_folder>(std::move(keeper), std::move(journal)), incarnation);
}

}  // namespace tidegate::actors
