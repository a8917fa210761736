#include "policies/placement/replica_chain.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"

namespace tidegate::policies {

replica_chain::replica_chain(const state& before)
    : members_(before.incarnations.size()),
      wanted_{0, static_cast<std::uint32_t>(before.incarnations.size())},
      chain_(before.chain),
      view_(before.view),
      serving_(before.serving_view),
      began_(true),
      synced_(before.in_sync) {
  for (std::size_t i = 0; i < members_.size(); ++i)
    members_[i].incarnation = before.incarnations[i];
  for (const auto& held : chain_) members_.at(held.member).awaited = true;
  for (const auto& member : before.leaving)
    members_.at(member.number).leaving = member.incarnation;
}

replica_chain::state replica_chain::now() const {
  TIDEGATE_ASSERT(began_, "a group that somebody goes on with");
  state is{.incarnations = {},
           .chain = chain_,
           .view = view_,
           .serving_view = serving_,
           .in_sync = synced_,
           .leaving = {}};
  for (std::uint32_t member = 0; member < size(); ++member) {
    // Who waits to be a replica joins the next coordinator as one of whom it has not heard.
    const bool waits = is_here(member) && !is_in_chain(member);
    is.incarnations.push_back(members_[member].incarnation - (waits ? 1 : 0));
    if (was_here(member) && is_leaving(member))
      is.leaving.push_back({member, members_[member].leaving});
  }
  return is;
}

bool replica_chain::is_in_chain(std::uint32_t member) const {
  return std::any_of(chain_.begin(), chain_.end(),
                     [&](const place& held) { return held.member == member; });
}

bool replica_chain::is_complete() const noexcept {
  return !chain_.empty() && std::none_of(members_.begin(), members_.end(),
                                         [](const auto& member) { return member.awaited; });
}

std::uint32_t replica_chain::replicas_in_sync() const noexcept {
  if (chain_.empty()) return 0;
  const auto replicas = static_cast<std::uint32_t>(chain_.size()) - 1;
  return replicas - (replicas > 0 && !synced_ ? 1 : 0);
}

replica_chain::change replica_chain::joined(std::uint32_t number, std::uint32_t incarnation,
                                            std::string address) {
  TIDEGATE_ASSERT(number < size() && !address.empty() && !is_here(number),
                  "its predecessor has left");
  auto& member = members_[number];
  const bool returns = std::exchange(member.awaited, false);
  TIDEGATE_ASSERT(!returns || incarnation == member.incarnation,
                  "the one that was awaited has left before");
  member.address = std::move(address);
  member.incarnation = incarnation;
  if (is_lost()) return change::none;
  if (returns) return is_complete() ? change::complete : change::none;
  if (began_) return change::rejoined;
  const auto end = wanted_.first + wanted_.count;
  for (auto i = wanted_.first; i < end; ++i)
    if (!is_here(i)) return change::none;
  began_ = synced_ = true;
  for (auto i = wanted_.first; i < end; ++i) chain_.push_back({i, 0});
  return change::complete;
}

replica_chain::departure replica_chain::left(std::uint32_t number) {
  if (!was_here(number)) return {};
  auto& member = members_.at(number);
  member.address.clear();
  member.awaited = false;
  const auto at = std::find_if(chain_.begin(), chain_.end(),
                               [&](const place& held) { return held.member == number; });
  if (at == chain_.end()) return {};  // not welcomed yet, or all is lost
  const bool was_last = at + 1 == chain_.end();
  if (at == chain_.begin()) {
    if (was_last || (chain_.size() == 2 && !synced_)) {
      chain_.clear();
      synced_ = false;
      return {change::lost};
    }
    chain_.erase(at);
    serving_ = ++view_;
    return {change::promoted};
  }
  const auto before = static_cast<std::uint32_t>(at - chain_.begin()) - 1;
  chain_.erase(at);
  chain_[before].view = ++view_;
  if (was_last) synced_ = true;
  return {was_last ? change::cut : change::relinked, before};
}

std::optional<std::uint32_t> replica_chain::candidate() const {
  if (!is_complete() || !synced_) return {};
  for (std::uint32_t member = 0; member < size(); ++member)
    if (is_wanted(member) && is_here(member) && !is_in_chain(member) && !is_leaving(member))
      return member;
  return {};
}

std::vector<std::uint32_t> replica_chain::leaving() const {
  std::vector<std::uint32_t> all;
  for (std::uint32_t member = 0; member < size(); ++member)
    if (is_here(member) && is_leaving(member)) all.push_back(member);
  return all;
}

void replica_chain::let_leave(std::uint32_t number) {
  auto& member = members_.at(number);
  TIDEGATE_ASSERT(is_here(number), "somebody who can be told");
  member.leaving = member.incarnation;
}

std::vector<std::uint32_t> replica_chain::leavers() const {
  std::vector<std::uint32_t> may;
  if (!is_complete()) return may;
  for (std::uint32_t member = 0; member < size(); ++member)
    if (!is_wanted(member) && is_here(member) && !is_in_chain(member) && !is_leaving(member))
      may.push_back(member);
  if (std::any_of(chain_.begin(), chain_.end(),
                  [&](const place& held) { return is_leaving(held.member); }))
    return may;
  const auto last = chain_.back().member;
  if (!synced_) {
    if (!is_wanted(last)) may.push_back(last);
    return may;
  }
  const auto wanted = std::count_if(chain_.begin(), chain_.end(), [&](const place& entry) {
    return is_wanted(entry.member);
  });
  if (wanted < static_cast<std::ptrdiff_t>(wanted_.count)) return may;
  const auto in_the_way =
      std::find_if(chain_.rbegin(), chain_.rend(),
                   [&](const place& candidate) { return !is_wanted(candidate.member); });
  if (in_the_way != chain_.rend()) may.push_back(in_the_way->member);
  return may;
}

void replica_chain::welcome() {
  const auto ticket = candidate();
  TIDEGATE_ASSERT(ticket.has_value(), "a process that waits to be one");
  chain_.back().view = ++view_;
  chain_.push_back({*ticket, 0});
  synced_ = runtime::is_planted(runtime::planted_bug::moved_chunk_lost);
}

bool replica_chain::is_pair(std::uint32_t view) const {
  for (std::size_t at = 0; at + 1 < chain_.size(); ++at)
    if (chain_[at].view == view) return true;
  return false;
}

bool replica_chain::in_sync(std::uint32_t view) {
  if (chain_.size() < 2 || chain_[chain_.size() - 2].view != view) return false;
  synced_ = true;
  return true;
}

}  // namespace tidegate::policies
