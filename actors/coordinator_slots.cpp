// What the coordinator actor does for processes of slots, where shards move.
#include "actors/coordinator_state.hpp"

namespace tidegate::actors {

using runtime::unix_now;

caf::result<done_atom> coordinator::join_host(std::uint64_t token,
                                              policies::shard_slots::process which,
                                              std::uint32_t life, const hosted_members& has,
                                              const caf::actor& who) {
  if (!of_run(token)) return stranger();
  auto [id, answer] = promise(shard_promises_);
  if (core_.host_joined(unix_now(), which, life, has, id, effects_)) {
    hosts_[which] = {life, caf::actor_cast<shard_host_actor>(who)};
    monitor(who);
  }
  carry_out();
  return answer;
}

void coordinator::member_gone(std::uint64_t token, const policies::hosted_member& which) {
  if (!of_run(token)) return;
  core_.member_gone(unix_now(), which, effects_);
  carry_out();
}

caf::result<done_atom> coordinator::scale_shards(std::uint64_t token, std::uint32_t slots) {
  if (!known(token)) return stranger();
  const auto result = core_.scale_shards(unix_now(), slots, effects_);
  if (!result.ok()) return to_error(result);
  carry_out();
  return done();
}

// To one that is gone it goes unheard.
void coordinator::tell_slots(const policies::coordinator_effects& effects) {
  for (const auto& one : effects.hosts) send(hosts_.at(one.process).who, one.what);
  for (const auto& one : effects.retirements)
    send(shards_.at(shard_name("", one.shard, one.member)), stop_atom::value);
  for (const auto& one : effects.idle) send(hosts_.at(one).who, stop_atom::value);
}

}  // namespace tidegate::actors
