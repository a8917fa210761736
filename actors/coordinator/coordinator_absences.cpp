// coordinator_shell: members whose control connection broke, whether they have died, and what
// follows if so.
#include <algorithm>
#include <utility>

#include "actors/coordinator/coordinator_shell.hpp"
#include "runtime/base/planted.hpp"

namespace tidegate::actors {

using policies::process_role;
using runtime::errc;
using runtime::is_planted;
using runtime::planted_bug;

// A process that this host sees ending does not return: its sockets close before it is gone.
// The launcher tells of other processes.
bool coordinator_shell::may_return(const control_member& member) const {
  return !member.ended && port_.may_live(member.address);
}

void coordinator_shell::look_soon() {
  constexpr std::int64_t pause_ns = 100'000'000;
  if (!std::exchange(looks_, true)) port_.look_in(pause_ns);
}

void coordinator_shell::look() {
  looks_ = false;
  if (has_ended_) return;
  const auto now = port_.steady_now();
  const auto is_overdue = [&](std::int64_t since) { return now - since >= absent_most_ns_; };
  for (auto& [slot, known] : hosts_)
    if (known.absent_since && is_overdue(*known.absent_since)) {
      if (!is_planted(planted_bug::absent_member_not_condemned))
        core_.out_of_reach(port_.unix_now(), slot, known.life);
      lose(slot, known);
    }
  const auto overdue = members_.remove_absent([&](const control_member& member) {
    return is_overdue(*member.absent_since) || !may_return(member);
  });
  for (const auto& member : overdue) {
    // It may live, and go on for as long as it hopes to find the coordinator: the launcher ends
    // it, so that another takes its place.
    if (may_return(member) && !is_planted(planted_bug::absent_member_not_condemned))
      core_.out_of_reach(port_.unix_now(), member.address);
    lose(member, "its connection broke, and it has not come back (supervision.unreachable)");
  }
  const bool awaits_host = std::ranges::any_of(
      hosts_, [](const auto& entry) { return entry.second.absent_since.has_value(); });
  if (awaits_host || members_.has_absent()) look_soon();
}

void coordinator_shell::lose(policies::shard_slots::process slot, slot_process& known) {
  known.absent_since.reset();
  core_.host_lost(slot, known.life);
}

void coordinator_shell::connection_lost(std::uint64_t handle, bool broke,
                                        const std::string& why) {
  if (has_ended_) return;
  if (is_planted(planted_bug::broken_control_connection_is_a_death)) broke = false;
  for (auto& [slot, known] : hosts_)
    if (known.peer.handle == handle) {
      if (!broke || known.ended) {
        lose(slot, known);
        continue;
      }
      known.absent_since = port_.steady_now();
      look_soon();
    }
  auto* const member = members_.find(handle);
  if (member == nullptr) return;
  if (!broke || !may_return(*member)) return lose(*members_.remove(handle), why);
  member->absent_since = port_.steady_now();
  look_soon();
}

void coordinator_shell::process_ended(const control_sender& from,
                                      const policies::process_name& name,
                                      std::uint32_t incarnation, reply_to reply) {
  if (refuses(check(from), reply)) return;
  // What the launcher has seen end may have been a starter, and the process live out of its
  // reach: then its successor's coming ends it, for which it must be known.
  if (moves_shards_ && policies::serves_shard(name.role)) {
    host_ended(policies::slot_process_of(name, shards_), incarnation);
  } else if (auto* const member = members_.find(name, incarnation)) {
    member->ended = true;
    if (member->absent_since)
      lose(*members_.remove(member->peer.handle), "its process has ended");
  }
  carry_out(std::move(reply));
}

// All that it has goes with it.
void coordinator_shell::host_ended(policies::shard_slots::process slot, std::uint32_t life) {
  const auto at = hosts_.find(slot);
  if (at == hosts_.end() || at->second.life != life) return;
  auto& known = at->second;
  known.ended = true;
  if (known.absent_since) lose(slot, known);
  members_.note_ended(known.peer.process);
  const auto ended =
      members_.remove_absent([](const control_member& member) { return member.ended; });
  for (const auto& member : ended) lose(member, "its process has ended");
}

void coordinator_shell::lose(const control_member& member, const std::string& why) {
  const auto now = port_.unix_now();
  bool out = false;
  // A worker that has finished leaves like this, too; the core tells them apart.
  if (member.role == process_role::shard)
    out = core_.shard_lost(now, member.index, why, effects_, member.in_group);
  else if (member.role == process_role::aggregator)
    core_.aggregator_lost(now, member.job, member.index, why, effects_);
  else
    core_.worker_lost(now, member.job, member.index, why);
  // It may be back on another connection and not know that it has been taken for dead.
  if (out) port_.expel(member.peer, {errc::cancelled, "it was taken for dead: " + why});
  carry_out();
}

}  // namespace tidegate::actors
