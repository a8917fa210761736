#include "launch/simulate/cluster/shard_host.hpp"

#include <utility>

#include "launch/simulate/cluster/coordinator.hpp"
#include "launch/simulate/cluster/host_processes.hpp"
#include "launch/simulate/cluster/shard.hpp"

namespace tidegate::sim {

namespace {

constexpr nanoseconds begin_most = 3 * millisecond;

}  // namespace

shard_host::shard_host(world& where, process_id id, std::uint32_t host,
                       policies::shard_map::process hosted, std::uint32_t incarnation)
    : frameless_process(where, id, role::shard,
                        policies::name_of(hosted, where.plan.spec.shards).to_string(), host),
      cluster_member(static_cast<process&>(*this)),
      process_(hosted),
      incarnation_(incarnation) {}

void shard_host::ask_to_join(process_id coordinator, answer_to back) {
  std::vector<policies::hosted_member> has;
  for (const auto& [hosted, part] : parts_) has.push_back(hosted);
  ask<coordinator_process>(
      coordinator,
      [process = process_, incarnation = incarnation_, has, me = id()](coordinator_process& to,
                                                                       answer_to reply) {
        to.host_joined(process, incarnation, has, me, std::move(reply));
      },
      std::move(back));
}

void shard_host::gave_up(const runtime::status& why) {
  if (why.code() == runtime::errc::unavailable) ++world_.killed[name()];
  note("could not join: " + why.to_string());
  host_processes::exits(world_, id(), why);
}

void shard_host::take(const policies::host_call& call) {
  for (const auto& member : call.members) {
    if (!parts_.try_emplace(member, 0).second) continue;
    note("has shard " + std::to_string(member.shard) + " member " +
         std::to_string(member.member.number) + " life " +
         std::to_string(member.member.incarnation));
    later(world_.chance.between<nanoseconds>(0, begin_most), [this, member] { begin(member); });
  }
}

void shard_host::begin(const policies::hosted_member& hosted) {
  parts_.at(hosted) = world_.add([&](process_id part) {
    auto begun = std::make_unique<shard_process>(world_, part, host(), hosted.shard,
                                                 hosted.member, name() + "/");
    begun->be_part_of(id());
    return begun;
  });
}

void shard_host::stop(bool rests) {
  for (const auto& [member, part] : parts_)
    if (auto* const home = world_.find_as<endpoint_process>(part); home && rests)
      home->check_rest();
  host_processes::exits(world_, id(), {});
}

void shard_host::retire(process_id part) {
  for (const auto& [hosted, running] : parts_) {
    if (running != part) continue;
    const auto gone = hosted;
    parts_.erase(hosted);
    world_.end_part(part);
    ask<coordinator_process>(
        coordinator(),
        [gone](coordinator_process& to, const answer_to& reply) {
          to.member_gone(gone);
          reply({});
        },
        [](const answer&) {});
    return;
  }
}

}  // namespace tidegate::sim
