#include "policies/coordinator/shard_mover.hpp"

#include <algorithm>
#include <utility>

#include "policies/coordinator/state.hpp"
#include "policies/protocol/frame_epoch.hpp"
#include "runtime/base/assert.hpp"

namespace tidegate::policies::coordination {

using runtime::errc;

shard_mover::shard_mover(coordinator_state& state)
    : state_(state),
      moves_(state.cluster.slots > 0),
      slots_(state.cluster.shards, state.cluster.replicas,
             moves_ ? state.cluster.slots : state.cluster.shards) {}

std::string shard_mover::place_of(std::uint32_t shard, std::uint32_t member) const {
  return policies::name_of(slots_.process_of(shard, member), slots_.shards()).to_string();
}

bool shard_mover::takes_process(shard_map::process process, std::uint32_t incarnation,
                                ticket requester, coordinator_effects& out) {
  if (!moves_ || !slots_.has(process) || incarnation == 0) {
    refuse(requester, errc::invalid_argument, "no such process is of this cluster", out);
    return false;
  }
  const auto& known = processes_[process];
  if (incarnation > known.incarnation || (incarnation == known.incarnation && !known.lost))
    return true;
  refuse(requester, errc::already_exists,
         "another process has taken the place of " +
             policies::name_of(process, slots_.shards()).to_string() + ", or is to",
         out);
  return false;
}

bool shard_mover::host_joined(std::int64_t now, shard_map::process process,
                              std::uint32_t incarnation, std::span<const hosted_member> has,
                              ticket requester, coordinator_effects& out) {
  if (!takes_process(process, incarnation, requester, out)) return false;
  auto& known = processes_[process];
  out.answers.push_back({requester, {}, {}});
  const bool were_in = state_.lifecycle.all_in();
  const bool is_new = incarnation > known.incarnation;
  known = {.incarnation = incarnation, .here = true, .lost = false};
  if (is_new) record_slots(out);
  forget_members(now, process, is_new, has, out);
  for (const auto& hosted : has) note_hosted(hosted, incarnation);
  move_all_on(out);
  end_idle(out);
  state_.lifecycle.begin_if_all_in(were_in, now, out);
  return true;
}

// Of a new incarnation whoever was here, or was awaited. Else who was awaited, but for these,
// and who has left: the word of that may have been lost with the process's connection, as what
// it was asked to have. Others that are here may have begun since the process said what it has.
void shard_mover::forget_members(std::int64_t now, shard_map::process process, bool is_new,
                                 std::span<const hosted_member> has, coordinator_effects& out) {
  for (std::uint32_t shard = 0; shard < slots_.shards(); ++shard) {
    const auto& group = state_.replicas[shard];
    const auto number = slots_.member_of(shard, process);
    const auto is_it = [&](const hosted_member& hosted) {
      return hosted.shard == shard && hosted.member.number == number &&
             hosted.member.incarnation == group.incarnation(number);
    };
    const bool has_it = std::any_of(has.begin(), has.end(), is_it);
    const bool has_left = retiring_.contains({shard, number}) && !has_it;
    if (!is_new && !has_left && (group.is_here(number) || has_it)) continue;
    forget(shard, number);
    if (group.was_here(number))
      state_.replicas.member_left(now, {.index = shard, .aggregator = false, .member = number},
                                  "its process has it no more", out);
  }
}

void shard_mover::host_lost(shard_map::process process, std::uint32_t incarnation) {
  auto& known = processes_[process];
  if (known.incarnation != incarnation) return;
  known.here = false;
  known.lost = true;
  std::erase_if(hosted_, [&](const auto& entry) {
    return slots_.process_of(entry.first.first, entry.first.second) == process;
  });
}

void shard_mover::member_gone(std::int64_t now, const hosted_member& hosted,
                              coordinator_effects& out) {
  if (!moves_ || hosted.shard >= slots_.shards() || hosted.member.number >= slots_.members())
    return;
  const std::pair key(hosted.shard, hosted.member.number);
  if (const auto at = hosted_.find(key);
      at != hosted_.end() && at->second == hosted.member.incarnation) {
    hosted_.erase(at);
    retiring_.erase(key);
  }
  const bool were_in = state_.lifecycle.all_in();
  const auto& group = state_.replicas[hosted.shard];
  if (group.was_here(hosted.member.number) &&
      group.incarnation(hosted.member.number) == hosted.member.incarnation) {
    state_.events.add(
        now, "shard_left",
        state_.replicas.name_of(
            {.index = hosted.shard, .aggregator = false, .member = hosted.member.number}));
    state_.replicas.member_left(
        now, {.index = hosted.shard, .aggregator = false, .member = hosted.member.number},
        "it has ended", out);
  }
  move_on(hosted.shard, out);
  end_idle(out);
  state_.lifecycle.begin_if_all_in(were_in, now, out);
}

runtime::status shard_mover::scale(std::int64_t now, std::uint32_t slots,
                                   coordinator_effects& out) {
  if (!moves_)
    return {errc::refused,
            "shards of this cluster stay where they are: cluster.max_shards, given before a "
            "run, lets them move"};
  if (slots == 0 || slots > slots_.shards())
    return {errc::over_limit, std::to_string(slots) + " shards are asked for; allowed: 1 to " +
                                  std::to_string(slots_.shards()) + " (cluster.max_shards)"};
  // Frames carry so many views (frame_epoch); those of deaths have a share.
  for (const auto& group : state_.replicas.groups())
    if (group.view() >= views_max / 2)
      return {
          errc::refused,
          "shards have moved so often that no number is left for another time: end the run, "
          "and go on with tidegate launch --resume"};
  if (!state_.lifecycle.has_begun())
    return {errc::unavailable, "not all processes of the run have joined yet"};
  state_.events.add(now, "scaled", std::to_string(slots) + " shards are wanted");
  for (const auto shard : slots_.scale(slots)) {
    state_.replicas.group(shard).want(slots_.wanted_of(shard));
    on_the_move_.insert(shard);
    // Back before anything had happened.
    note_moved(now, shard);
    if (!on_the_move_.contains(shard)) continue;
    state_.events.add(now, "shard_moves",
                      "shard " + std::to_string(shard) + " to " +
                          place_of(shard, slots_.wanted_of(shard).first));
  }
  record_slots(out);
  move_all_on(out);
  end_idle(out);
  return {};
}

// Those that a group lacks are asked for, and those in its way leave.
void shard_mover::move_on(std::uint32_t shard, coordinator_effects& out) {
  if (!moves_ || state_.replicas[shard].is_lost()) return;
  ask_to_host(shard, out);
  auto& group = state_.replicas.group(shard);
  const auto leavers = group.leavers();
  if (leavers.empty() && group.leaving().empty()) return;
  // Who has just been told of a new neighbour, or is to be the primary, hears of that first.
  if (!state_.lifecycle.all_in() || state_.replicas.is_promoting(shard)) return;
  for (const auto member : leavers) group.let_leave(member);
  if (!leavers.empty()) state_.replicas.record_group(shard, out);
  for (const auto member : group.leaving())
    if (retiring_.insert({shard, member}).second) out.retirements.push_back({shard, member});
}

void shard_mover::ask_to_host(std::uint32_t shard, coordinator_effects& out) {
  const auto& group = state_.replicas[shard];
  const auto wanted = slots_.wanted_of(shard);
  for (auto member = wanted.first; member < wanted.first + wanted.count; ++member) {
    const auto process = slots_.process_of(shard, member);
    const auto at = processes_.find(process);
    if (at == processes_.end() || !at->second.here || group.was_here(member) ||
        hosted_.contains({shard, member}))
      continue;
    const auto host = at->second.incarnation;
    const hosted_member next{shard, {member, next_incarnation(shard, member, host)}};
    note_hosted(next, host);
    out.hosts.push_back({process, {{next}}});
  }
}

// A process that has not heard of it before is asked for the same once more.
std::uint32_t shard_mover::next_incarnation(std::uint32_t shard, std::uint32_t member,
                                            std::uint32_t host) const {
  const auto next = state_.replicas[shard].incarnation(member) + 1;
  const auto asked = asked_.find({shard, member});
  if (asked == asked_.end()) return next;
  const auto& last = asked->second;
  return std::max(next, last.host == host ? last.incarnation : last.incarnation + 1);
}

void shard_mover::note_hosted(const hosted_member& hosted, std::uint32_t host) {
  const member_key key(hosted.shard, hosted.member.number);
  hosted_[key] = hosted.member.incarnation;
  auto& asked = asked_[key];
  if (hosted.member.incarnation >= asked.incarnation)
    asked = {.incarnation = hosted.member.incarnation, .host = host};
}

bool shard_mover::is_outdated(std::uint32_t shard, const group_member& member) const {
  const auto hosted = hosted_.find({shard, member.number});
  return hosted != hosted_.end() && hosted->second > member.incarnation;
}

// Of slots that are not wanted any more.
void shard_mover::end_idle(coordinator_effects& out) {
  std::set<shard_map::process> busy;
  for (const auto& [key, incarnation] : hosted_)
    busy.insert(slots_.process_of(key.first, key.second));
  for (auto& [process, known] : processes_) {
    if (!known.here || process.slot < slots_.wanted() || busy.contains(process)) continue;
    known.here = false;
    out.idle.push_back(process);
  }
}

// After one has left.
void shard_mover::note_moved(std::int64_t now, std::uint32_t shard) {
  const auto& group = state_.replicas[shard];
  const auto chain = group.chain();
  const auto wanted = [&](const auto& entry) { return group.is_wanted(entry.member); };
  if (chain.empty() || !std::all_of(chain.begin(), chain.end(), wanted)) return;
  if (on_the_move_.erase(shard) == 0) return;
  state_.events.add(
      now, "shard_moved",
      "shard " + std::to_string(shard) + " is with " + place_of(shard, group.primary()));
}

void shard_mover::record_slots(coordinator_effects& out) const {
  recorded_slots slots;
  slots.wanted = slots_.wanted();
  slots.slot_of = slots_.slot_of();
  for (const auto& [process, known] : processes_)
    if (known.incarnation > 0) slots.processes.push_back({process, known.incarnation});
  out.records.emplace_back(std::move(slots));
}

// Groups are as they were.
void shard_mover::go_on(const std::optional<recorded_slots>& before) {
  if (!moves_) return;
  if (before) {
    const bool could_be = slots_.go_on(before->wanted, before->slot_of);
    TIDEGATE_ASSERT(could_be, "the journal has been checked");
    for (const auto& process : before->processes)
      processes_[process.id].incarnation = process.incarnation;
  }
  for (std::uint32_t shard = 0; shard < slots_.shards(); ++shard) {
    auto& group = state_.replicas.group(shard);
    group.want(slots_.wanted_of(shard));
    const auto chain = group.chain();
    if (std::any_of(chain.begin(), chain.end(),
                    [&](const auto& entry) { return !group.is_wanted(entry.member); }))
      on_the_move_.insert(shard);
  }
}

void shard_mover::move_all_on(coordinator_effects& out) {
  for (std::uint32_t shard = 0; shard < slots_.shards(); ++shard) move_on(shard, out);
}

void shard_mover::forget(std::uint32_t shard, std::uint32_t member) {
  hosted_.erase({shard, member});
  retiring_.erase({shard, member});
}

std::uint32_t shard_mover::incarnation_of(shard_map::process process) const {
  const auto known = processes_.find(process);
  return known == processes_.end() ? 0 : known->second.incarnation;
}

bool shard_mover::is_here(shard_map::process process, std::uint32_t incarnation) const {
  const auto known = processes_.find(process);
  return known != processes_.end() && known->second.here &&
         known->second.incarnation == incarnation;
}

}  // namespace tidegate::policies::coordination
