// Members whose control connection broke: whether they have died, and what follows if so.
#include <chrono>
#include <cstdlib>

#include "actors/coordinator_state.hpp"
#include "actors/environment.hpp"
#include "actors/peer_address.hpp"
#include "runtime/base/log.hpp"
#include "runtime/process/process_mark.hpp"

namespace tidegate::actors {

namespace log = runtime::log;
using policies::process_role;
using runtime::errc;

// Not one of this host that is gone, or going: its sockets close before it is. Of other
// processes the launcher tells. Where shards move, members of a process come and go with their
// connections.
bool coordinator::may_return(const member& lost) const {
  if (!hosts_.empty() || lost.ended) return false;
  const bool is_here = std::getenv(one_host_variable) != nullptr ||
                       share_memory(peer_address(shared_host(), ""), lost.address);
  return !is_here || runtime::is_running(process_of(lost.address));
}

void coordinator::look_soon() {
  constexpr auto pause = std::chrono::milliseconds(100);
  if (!std::exchange(looks_, true)) delayed_send(this, pause, look_atom::value);
}

void coordinator::look() {
  looks_ = false;
  std::vector<caf::actor_addr> overdue;
  bool waits = false;
  for (const auto& [address, known] : members_) {
    if (known.cut_since == 0) continue;
    const bool is_over =
        runtime::steady_now() - known.cut_since >= unreachable_ns_ || !may_return(known);
    if (is_over)
      overdue.push_back(address);
    else
      waits = true;
  }
  for (const auto& address : overdue)
    if (const auto at = members_.find(address); at != members_.end())
      lose(at, "its connection broke, and it has not come back (supervision.unreachable)");
  if (waits) look_soon();
}

// The launcher learns from the status who is condemned, and kills it.
void coordinator::unreachable(std::uint64_t token, const std::string& reporter,
                              const unreachable_peers& peers) {
  if (known(token)) core_.unreachable(unix_now(), reporter, peers);
}

bool coordinator::is_named(const member& known, const policies::process_name& name) const {
  switch (name.role) {
    case process_role::shard:
      return known.is_shard && known.index == name.index && known.in_group == 0;
    case process_role::replica:
      return known.is_shard && known.in_group > 0 &&
             policies::replica_index(shard_count_, known.index, known.in_group) == name.index;
    case process_role::aggregator:
      return known.aggregates && known.job == name.job && known.index == name.index;
    case process_role::worker:
      return !known.is_shard && !known.aggregates && known.job == name.job &&
             known.index == name.index;
    case process_role::coordinator:
      return false;
  }
  return false;
}

caf::result<done_atom> coordinator::process_ended(std::uint64_t token, std::uint32_t role,
                                                  policies::process_name name,
                                                  std::uint32_t incarnation) {
  if (!known(token)) return stranger();
  name.role = static_cast<process_role>(role);
  if (!hosts_.empty()) return done_atom::value;  // names are of slots there
  for (auto at = members_.begin(); at != members_.end(); ++at)
    if (is_named(at->second, name) && at->second.incarnation == incarnation) {
      // What the launcher has seen end may have been a starter, and the process live out of its
      // reach: then its successor's coming ends it, for which it must be known.
      at->second.ended = true;
      if (at->second.cut_since != 0) lose(at, "its process has ended");
      break;
    }
  return done_atom::value;
}

void coordinator::lose(member_entry lost, const std::string& why) {
  const auto known = lost->second;
  const auto address = lost->first;
  members_.erase(lost);
  bool out = false;
  // A worker that has finished leaves like this, too; the core tells them apart.
  if (known.job.empty())
    out = core_.shard_lost(unix_now(), known.index, why, effects_, known.in_group);
  else if (known.aggregates)
    core_.aggregator_lost(unix_now(), known.job, known.index, why, effects_);
  else
    core_.worker_lost(unix_now(), known.job, known.index, why);
  // It may be back on another connection and not know that it has been taken for dead.
  if (out)
    if (const auto process = caf::actor_cast<caf::actor>(address))
      send_exit(process, to_error({errc::cancelled, "it was taken for dead: " + why}));
  carry_out();
}

}  // namespace tidegate::actors
