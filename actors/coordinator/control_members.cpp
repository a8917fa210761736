#include "actors/coordinator/control_members.hpp"

#include <algorithm>
#include <utility>

#include "policies/placement/shard_map.hpp"
#include "runtime/base/planted.hpp"

namespace tidegate::actors {

using policies::process_role;
using runtime::is_planted;
using runtime::planted_bug;

bool control_member::shares_place_with(const control_member& other) const {
  return role == other.role && job == other.job && index == other.index &&
         in_group == other.in_group;
}

std::vector<control_member> control_members::add(control_member joined) {
  std::vector<control_member> former;
  for (auto at = members_.begin(); at != members_.end();)
    if (!is_planted(planted_bug::former_connection_still_a_member) &&
        at->second.shares_place_with(joined)) {
      former.push_back(std::move(at->second));
      at = members_.erase(at);
    } else {
      ++at;
    }
  const auto handle = joined.peer.handle;
  members_.insert_or_assign(handle, std::move(joined));
  return former;
}

control_member* control_members::find(std::uint64_t handle) {
  const auto at = members_.find(handle);
  return at == members_.end() ? nullptr : &at->second;
}

control_member* control_members::find(const policies::process_name& name,
                                      std::uint32_t incarnation) {
  for (auto& [handle, member] : members_)
    if (member.incarnation == incarnation && is_named(member, name)) return &member;
  return nullptr;
}

std::optional<control_member> control_members::remove(std::uint64_t handle) {
  auto node = members_.extract(handle);
  if (node.empty()) return std::nullopt;
  return std::move(node.mapped());
}

std::vector<control_member> control_members::remove_absent(
    const std::function<bool(const control_member&)>& is_over) {
  std::vector<control_member> removed;
  for (auto at = members_.begin(); at != members_.end();)
    if (at->second.absent_since && is_over(at->second)) {
      removed.push_back(std::move(at->second));
      at = members_.erase(at);
    } else {
      ++at;
    }
  return removed;
}

void control_members::note_ended(std::uint64_t process) {
  for (auto& [handle, member] : members_)
    if (member.peer.process == process) member.ended = true;
}

bool control_members::has_absent() const {
  return std::any_of(members_.begin(), members_.end(),
                     [](const auto& entry) { return entry.second.absent_since.has_value(); });
}

bool control_members::is_named(const control_member& member,
                               const policies::process_name& name) const {
  switch (name.role) {
    case process_role::shard:
      return member.role == process_role::shard && member.index == name.index &&
             member.in_group == 0;
    case process_role::replica:
      return member.role == process_role::shard && member.in_group > 0 &&
             policies::replica_index(shards_, member.index, member.in_group) == name.index;
    case process_role::aggregator:
    case process_role::worker:
      return member.role == name.role && member.job == name.job && member.index == name.index;
    case process_role::coordinator:
      return false;
  }
  return false;
}

}  // namespace tidegate::actors
