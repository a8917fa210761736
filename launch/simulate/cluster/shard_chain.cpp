// A simulated shard and the other processes of its group, as the checker sees them.
#include <utility>

#include "launch/simulate/cluster/launcher.hpp"
#include "launch/simulate/cluster/shard.hpp"

namespace tidegate::sim {

// Whom this one led, and whoever follows that one, up to whom it leads now.
void shard_process::put_out_behind(process_id id) const {
  while (id != 0 && id != replica_ && !world_.check.is_out(id)) {
    world_.check.put_out(id);
    const auto* shard = world_.find_as<shard_process>(id);
    id = shard ? shard->replica_ : 0;
  }
}

void shard_process::lead(const policies::lead_call& call, const answer_to& reply) {
  if (!shell_.replication().lead_is_over(call.view)) {
    put_out_behind(std::exchange(replica_, id_of(call.address)));
    if (!call.address.empty()) led_view_ = call.view;
  }
  shell_.lead(call, [reply](const runtime::status& led) { reply({led, {}}); });
}

// What is acknowledged is in the whole chain, but for one that is being given everything. What
// was decided before its neighbour was replaced is of the neighbour before.
void shard_process::check_behind(std::uint32_t slot, std::uint32_t rank,
                                 std::uint64_t clock) const {
  const auto name = shell_.core().registry().name_of(slot);
  for (const auto* shard = this; shard->shell_.replication().leads_in(shard->led_view_) &&
                                 shard->shell_.replication().all_there();) {
    const auto* next = world_.find_as<shard_process>(shard->replica_);
    if (!next || world_.check.is_out(id()) || world_.check.is_out(next->id())) return;
    const auto there =
        next->shell_.core().registry().find_slot(name.job, name.table, name.chunk);
    // Under bsp a step has the pushes of all.
    const auto has = there ? next->shell_.core().snapshots().progress(*there)
                           : policies::shard_core::cut_state();
    const bool is_bsp = store_.is_bsp(name.job);
    if (!there || (is_bsp ? has.version : has.ranks[rank].next) <= clock)
      world_.check.fail(
          "replicas", this->name() + " acknowledges rank " + std::to_string(rank) + " clock " +
                          std::to_string(clock) + ", which " + next->name() + " lacks");
    shard = next;
  }
}

void shard_process::follow(const policies::follow_call& call) {
  const auto& replication = shell_.replication();
  if (!replication.follow_is_over(call.view) && !replication.follows_in(call.view)) {
    store_.set_follows(true);
    if (const auto before = std::exchange(primary_, id_of(call.address)); before != primary_)
      world_.check.put_out(before);
  }
  const auto followed = shell_.follow(call);
  if (!followed.ok()) note("cannot follow: " + followed.to_string());
}

// Who is to serve the shard, unless others have heard of a later one.
process_id shard_process::serves_since(std::uint64_t epoch) {
  auto& [latest, ticket] = world_.primaries[index_];
  if (epoch < latest) {
    world_.check.put_out(id());
    return 0;
  }
  latest = epoch;
  return std::exchange(ticket, id());
}

// Those of the chain before this one; the living ones of them.
std::set<process_id> shard_process::put_out_before(process_id served) {
  std::set<process_id> before;
  for (const auto* shard = this; shard != nullptr && !before.contains(shard->primary_);
       shard = world_.find_as<shard_process>(shard->primary_)) {
    world_.check.put_out(shard->primary_);
    before.insert(shard->primary_);
  }
  if (served != id()) {
    world_.check.put_out(served);
    before.insert(served);
  }
  std::erase_if(before, [&](process_id number) { return !world_.net.lives(number); });
  return before;
}

void shard_process::promote(const policies::promote_call& call) {
  if (!shell_.promote(call)) return;
  note("is promoted in view " + std::to_string(call.view));
  store_.set_follows(false);
  const auto served = serves_since(call.epoch);
  const bool is_late = world_.check.is_out(id());
  const auto before = is_late ? std::set<process_id>() : put_out_before(served);
  store_.tell_promoted(is_late, before);
}

}  // namespace tidegate::sim
