#include "actors/coordinator/call_receivers.hpp"

#include <algorithm>

#include "runtime/base/planted.hpp"

namespace tidegate::actors {

void call_receivers::keep_callee(const callee_place& place, const control_peer& peer) {
  if (runtime::is_planted(runtime::planted_bug::calls_over_the_former_connection) &&
      callees_.contains(place) && callees_.at(place).process == peer.process)
    return;
  callees_.insert_or_assign(place, peer);
}

// A worker that hung hears nothing when it wakes after another has taken its place.
bool call_receivers::listen(const std::string& job, std::uint32_t rank,
                            std::uint32_t incarnation, const control_peer& peer) {
  auto& latest = listeners_[{job, rank}];
  if (incarnation < latest.incarnation) return false;
  latest = {incarnation, peer};
  return true;
}

const control_peer* call_receivers::find_callee(const callee_place& place) const {
  const auto at = callees_.find(place);
  return at == callees_.end() ? nullptr : &at->second;
}

const control_peer* call_receivers::listener_of(
    const policies::coordinator_effects::tell_moved& move) const {
  if (move.aggregates) return find_callee({move.job, move.index, 0});
  const auto at = listeners_.find({move.job, move.index});
  return at == listeners_.end() ? nullptr : &at->second.peer;
}

std::vector<control_peer> call_receivers::callees() const {
  std::vector<control_peer> peers;
  for (const auto& [place, peer] : callees_) peers.push_back(peer);
  return peers;
}

bool call_receivers::contains(std::uint64_t handle) const {
  return std::ranges::any_of(callees_,
                             [=](const auto& at) { return at.second.handle == handle; }) ||
         std::ranges::any_of(listeners_,
                             [=](const auto& at) { return at.second.peer.handle == handle; });
}

}  // namespace tidegate::actors
