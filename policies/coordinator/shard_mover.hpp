// Shards that move between processes while jobs run (cluster.max_shards): which process of a
// slot is to hold which members of the shards' groups, and when those in the way leave. Where
// shards do not move, it has no slots and does nothing.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "policies/coordinator/effects.hpp"
#include "policies/coordinator/record.hpp"
#include "policies/placement/shard_map.hpp"
#include "policies/protocol/control_calls.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::policies::coordination {

struct coordinator_state;

class shard_mover {
 public:
  explicit shard_mover(coordinator_state& state);

  // Goes on with the slots of the journal. The groups of shards go on before that.
  void go_on(const std::optional<recorded_slots>& before);
  // coordinator_core::host_joined(), host_lost(), member_gone(), scale_shards().
  bool host_joined(std::int64_t now, shard_map::process process, std::uint32_t incarnation,
                   std::span<const hosted_member> has, ticket requester,
                   coordinator_effects& out);
  void host_lost(shard_map::process process, std::uint32_t incarnation);
  void member_gone(std::int64_t now, const hosted_member& hosted, coordinator_effects& out);
  runtime::status scale(std::int64_t now, std::uint32_t slots, coordinator_effects& out);
  // Asks for the members that a group, or all groups, lack, and lets members leave that are not
  // wanted there.
  void move_on(std::uint32_t shard, coordinator_effects& out);
  void move_all_on(coordinator_effects& out);
  // Takes in that a member has left its group: the shard may have come to where it is wanted.
  void note_moved(std::int64_t now, std::uint32_t shard);
  // Forgets a member of a group that is gone, with its process or without.
  void forget(std::uint32_t shard, std::uint32_t member);

  // Returns true if shards may move. Where they do not, each shard has the slot of its number,
  // and its processes join as shards, not as hosts of shards.
  bool moves() const noexcept { return moves_; }
  bool is_retiring(std::uint32_t shard, std::uint32_t member) const {
    return retiring_.contains({shard, member});
  }
  const shard_map& slots() const { return slots_; }
  // Returns the incarnation of a process of a slot, 0 if it has never joined.
  std::uint32_t incarnation_of(shard_map::process process) const;
  bool is_here(shard_map::process process, std::uint32_t incarnation) const;
  // Returns true if a later incarnation of this member is at a process, or has been asked for:
  // a process that has died may have said before that it joins.
  bool is_outdated(std::uint32_t shard, const group_member& member) const;
  // Returns the name of the process that has this member or is to have it.
  std::string place_of(std::uint32_t shard, std::uint32_t member) const;

 private:
  struct slot_process {
    std::uint32_t incarnation = 0;
    bool here = false;
    bool lost = false;  // in this incarnation
  };
  struct asked_member {
    std::uint32_t incarnation = 0;
    std::uint32_t host = 0;
  };
  using member_key = std::pair<std::uint32_t, std::uint32_t>;  // shard, member

  bool takes_process(shard_map::process process, std::uint32_t incarnation, ticket requester,
                     coordinator_effects& out);
  void forget_members(std::int64_t now, shard_map::process process, bool is_new,
                      std::span<const hosted_member> has, coordinator_effects& out);
  void ask_to_host(std::uint32_t shard, coordinator_effects& out);
  // `host`: the incarnation of the process.
  std::uint32_t next_incarnation(std::uint32_t shard, std::uint32_t member,
                                 std::uint32_t host) const;
  void note_hosted(const hosted_member& hosted, std::uint32_t host);
  void end_idle(coordinator_effects& out);
  void record_slots(coordinator_effects& out) const;

  coordinator_state& state_;
  const bool moves_;
  shard_map slots_;
  std::map<shard_map::process, slot_process> processes_;
  // Members that processes have, or have been asked to have, by their incarnation.
  std::map<member_key, std::uint32_t> hosted_;
  // The latest incarnation of each member that a process has been asked for, and the
  // incarnation of that process. It outlives the process: no two lives of a process have one of
  // a member.
  std::map<member_key, asked_member> asked_;
  std::set<member_key> retiring_;
  std::set<std::uint32_t> on_the_move_;  // shards
};

}  // namespace tidegate::policies::coordination
