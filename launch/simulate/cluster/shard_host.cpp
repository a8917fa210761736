#include "launch/simulate/cluster/shard_host.hpp"

#include <utility>

#include "launch/simulate/cluster/coordinator.hpp"
#include "launch/simulate/cluster/launcher.hpp"
#include "launch/simulate/cluster/shard.hpp"

namespace tidegate::sim {

namespace {

constexpr nanoseconds begin_most = 3 * millisecond;

}  // namespace

shard_host::shard_host(world& where, process_id id, std::uint32_t host,
                       policies::shard_slots::process which, std::uint32_t life)
    : frameless_process(where, id, role::shard,
                        policies::name_of(which, where.plan.spec.shards).to_string(), host),
      cluster_member(static_cast<process&>(*this)),
      which_(which),
      life_(life) {}

void shard_host::ask_to_join(process_id coordinator, answer_to back) {
  std::vector<policies::hosted_member> has;
  for (const auto& [which, part] : parts_) has.push_back(which);
  ask<coordinator_process>(
      coordinator,
      [which = which_, life = life_, has, me = id()](coordinator_process& to, answer_to reply) {
        to.host_joined(which, life, has, me, std::move(reply));
      },
      std::move(back));
}

void shard_host::gave_up(const runtime::status& why) {
  if (why.code() == runtime::errc::unavailable) ++world_.killed[name()];
  note("could not join: " + why.to_string());
  launcher::of(world_).exits(id(), why);
}

void shard_host::take(const policies::host_call& what) {
  for (const auto& one : what.members) {
    if (!parts_.try_emplace(one, 0).second) continue;
    note("has shard " + std::to_string(one.shard) + " member " +
         std::to_string(one.member.number) + " life " + std::to_string(one.member.incarnation));
    later(world_.chance.between<nanoseconds>(0, begin_most), [this, one] { begin(one); });
  }
}

void shard_host::begin(const policies::hosted_member& which) {
  parts_.at(which) = world_.add([&](process_id part) {
    auto made = std::make_unique<shard_process>(world_, part, host(), which.shard, which.member,
                                                name() + "/");
    made->be_part_of(id());
    return made;
  });
}

void shard_host::stop(bool rests) {
  for (const auto& [member, part] : parts_)
    if (auto* const home = world_.find_as<front_process>(part); home && rests)
      home->check_rest();
  launcher::of(world_).exits(id(), {});
}

void shard_host::retire(process_id part) {
  for (const auto& [which, running] : parts_) {
    if (running != part) continue;
    const auto gone = which;
    parts_.erase(which);
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
