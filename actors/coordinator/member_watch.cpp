#include "actors/coordinator/member_watch.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/planted.hpp"

namespace tidegate::actors {

using runtime::is_planted;
using runtime::planted_bug;

std::vector<control_member> member_watch::add(control_member joined) {
  port_.watch(joined.peer);
  return members_.add(std::move(joined));
}

void member_watch::add_host(slot_process slot, std::uint32_t incarnation,
                            const control_peer& peer) {
  hosts_[slot] = {.incarnation = incarnation, .peer = peer};
  port_.watch(peer);
}

// A process that this host sees ending does not return: its sockets close before it is gone.
// The launcher tells of other processes.
bool member_watch::may_return(const control_member& member) const {
  return !member.ended && port_.may_live(member.address);
}

void member_watch::look_soon() {
  constexpr std::int64_t pause_ns = 100'000'000;
  if (!std::exchange(looks_, true)) port_.look_in(pause_ns);
}

void member_watch::look() {
  looks_ = false;
  const auto now = port_.steady_now();
  const auto is_overdue = [&](std::int64_t since) {
    return now - since >= options_.absent_most_ns;
  };
  for (auto& [slot, known] : hosts_)
    if (known.absent_since && is_overdue(*known.absent_since)) {
      if (!is_planted(planted_bug::absent_member_not_condemned))
        owner_.out_of_reach(slot, known.incarnation);
      lose(slot, known);
    }
  const auto overdue = members_.remove_absent([&](const control_member& member) {
    return is_overdue(*member.absent_since) || !may_return(member);
  });
  for (const auto& member : overdue) {
    // It may live, and go on for as long as it hopes to find the coordinator: the launcher ends
    // it, so that another takes its place.
    if (may_return(member) && !is_planted(planted_bug::absent_member_not_condemned))
      owner_.out_of_reach(member);
    owner_.member_lost(
        member, "its connection broke, and it has not come back (supervision.unreachable)");
  }
  const bool awaits_host = std::ranges::any_of(
      hosts_, [](const auto& entry) { return entry.second.absent_since.has_value(); });
  if (awaits_host || members_.has_absent()) look_soon();
}

void member_watch::lose(slot_process slot, host_record& known) {
  known.absent_since.reset();
  owner_.host_lost(slot, known.incarnation);
}

void member_watch::connection_lost(std::uint64_t handle, bool broke, const std::string& why) {
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
  if (!broke || !may_return(*member)) return owner_.member_lost(*members_.remove(handle), why);
  member->absent_since = port_.steady_now();
  look_soon();
}

// What the launcher has seen end may have been a starter, and the process live out of its
// reach: then its successor's coming ends it, for which it must be known.
void member_watch::process_ended(const policies::process_name& name,
                                 std::uint32_t incarnation) {
  if (options_.moves_shards && policies::serves_shard(name.role)) {
    host_ended(policies::slot_process_of(name, options_.shards), incarnation);
  } else if (auto* const member = members_.find(name, incarnation)) {
    member->ended = true;
    if (member->absent_since)
      owner_.member_lost(*members_.remove(member->peer.handle), "its process has ended");
  }
}

// All that it has goes with it.
void member_watch::host_ended(slot_process slot, std::uint32_t incarnation) {
  const auto at = hosts_.find(slot);
  if (at == hosts_.end() || at->second.incarnation != incarnation) return;
  auto& known = at->second;
  known.ended = true;
  if (known.absent_since) lose(slot, known);
  members_.note_ended(known.peer.process);
  const auto ended =
      members_.remove_absent([](const control_member& member) { return member.ended; });
  for (const auto& member : ended) owner_.member_lost(member, "its process has ended");
}

std::vector<control_peer> member_watch::hosts() const {
  std::vector<control_peer> peers;
  for (const auto& [slot, known] : hosts_) peers.push_back(known.peer);
  return peers;
}

bool member_watch::contains(std::uint64_t handle) const {
  return members_.contains(handle) || std::ranges::any_of(hosts_, [=](const auto& entry) {
           return entry.second.peer.handle == handle;
         });
}

}  // namespace tidegate::actors
