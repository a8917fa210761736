// coordinator_shell: processes that join, and those whose places they take.
#include <algorithm>
#include <utility>

#include "actors/coordinator/coordinator_shell.hpp"
#include "runtime/base/planted.hpp"

namespace tidegate::actors {

using policies::process_role;

// Members that had the place before are heard no more.
void coordinator_shell::add(control_member joined) {
  put_out_.erase(joined.peer.process);  // a pid that is another process's by now
  port_.watch(joined.peer);
  const auto rank = joined.index;
  const auto incarnation = joined.incarnation;
  const auto process = joined.peer.process;
  const bool works = joined.role == process_role::worker;
  const auto former = members_.add(std::move(joined));
  if (!works) return;
  // Processes of this rank are mostly dead. A process that was given up because it hung, and
  // wakes where nobody could end it, must not speak for its rank any more.
  const auto why = replaced(rank, incarnation);
  for (const auto& member : former) {
    if (member.peer.process == process || member.peer.process == 0) continue;
    put_out_.insert_or_assign(member.peer.process, why);
    port_.expel(member.peer, why);
  }
}

void coordinator_shell::keep_callee(const callee_place& place, const control_peer& peer) {
  if (runtime::is_planted(runtime::planted_bug::calls_over_the_former_connection) &&
      callees_.contains(place) && callees_.at(place).process == peer.process)
    return;
  callees_.insert_or_assign(place, peer);
}

void coordinator_shell::shard_joined(const control_sender& from, std::uint32_t index,
                                     policies::group_member in_group,
                                     const std::string& address, const control_peer& peer,
                                     reply_to reply) {
  if (refuses(check_token(from), reply)) return;
  const auto id = wait(std::move(reply));
  if (core_.shard_joined(port_.unix_now(), index, address, id, effects_, in_group)) {
    keep_callee({"", index, in_group.number}, peer);
    add({.role = process_role::shard,
         .job = "",
         .index = index,
         .in_group = in_group.number,
         .incarnation = in_group.incarnation,
         .address = address,
         .peer = peer});
  }
  carry_out();
}

void coordinator_shell::aggregator_joined(const control_sender& from, const std::string& job,
                                          std::uint32_t index, std::uint32_t incarnation,
                                          const std::string& address, const control_peer& peer,
                                          reply_to reply) {
  if (refuses(check_token(from), reply)) return;
  const auto id = wait(std::move(reply));
  if (core_.aggregator_joined(port_.unix_now(), job, index, address, id, effects_,
                              incarnation)) {
    keep_callee({job, index, 0}, peer);
    add({.role = process_role::aggregator,
         .job = job,
         .index = index,
         .incarnation = incarnation,
         .address = address,
         .peer = peer});
  }
  carry_out();
}

void coordinator_shell::worker_joined(const control_sender& from,
                                      const policies::worker_hello& hello,
                                      const control_peer& peer, reply_to reply) {
  if (refuses(check_token(from), reply)) return;
  const auto id = wait(std::move(reply));
  if (core_.worker_joined(port_.unix_now(), hello, id, effects_))
    add({.role = process_role::worker,
         .job = hello.job,
         .index = hello.rank,
         .incarnation = hello.incarnation,
         .address = hello.address,
         .peer = peer});
  carry_out();
}

void coordinator_shell::host_joined(const control_sender& from,
                                    policies::shard_slots::process slot, std::uint32_t life,
                                    const std::vector<policies::hosted_member>& has,
                                    const control_peer& peer, reply_to reply) {
  if (refuses(check_token(from), reply)) return;
  const auto id = wait(std::move(reply));
  if (core_.host_joined(port_.unix_now(), slot, life, has, id, effects_)) {
    hosts_[slot] = {.life = life, .peer = peer};
    port_.watch(peer);
  }
  carry_out();
}

void coordinator_shell::member_gone(const control_sender& from,
                                    const policies::hosted_member& member) {
  if (!check_token(from).ok()) return;
  core_.member_gone(port_.unix_now(), member, effects_);
  carry_out();
}

// A worker that hung hears nothing when it wakes after another has taken its place.
void coordinator_shell::listen_for_moves(const control_sender& from, const std::string& job,
                                         std::uint32_t rank, std::uint32_t incarnation,
                                         const control_peer& peer) {
  if (!check_token(from).ok()) return;
  auto& latest = listeners_[{job, rank}];
  if (incarnation < latest.incarnation) return;
  latest = {incarnation, peer};
  core_.moves_of(job, rank, incarnation, effects_);
  carry_out();
}

bool coordinator_shell::knows(std::uint64_t handle) const {
  const auto is_it = [handle](const control_peer& peer) { return peer.handle == handle; };
  const auto waits = [&](const turn& next) {
    return std::ranges::any_of(next.callees, is_it) || std::ranges::any_of(next.hosts, is_it) ||
           std::ranges::any_of(next.retiring, is_it) || std::ranges::any_of(next.idle, is_it);
  };
  return members_.contains(handle) || std::ranges::any_of(turns_, waits) ||
         std::ranges::any_of(callees_, [&](const auto& at) { return is_it(at.second); }) ||
         std::ranges::any_of(listeners_,
                             [&](const auto& at) { return is_it(at.second.peer); }) ||
         std::ranges::any_of(hosts_, [&](const auto& at) { return is_it(at.second.peer); });
}

}  // namespace tidegate::actors
