// What coordinator_core does for the replicas of shards: who leads whom, who is promoted, who
// is told of it.
#include <algorithm>
#include <utility>

#include "policies/coordinator/core.hpp"
#include "policies/protocol/frame_epoch.hpp"
#include "runtime/base/planted.hpp"

namespace tidegate::policies {

// Who waits to be a replica is told of everything when it becomes one.
std::vector<coordinator_core::callee> coordinator_core::members_of(std::uint32_t shard) const {
  const auto& group = groups_of_[shard];
  std::vector<callee> here;
  for (const auto& place : group.chain())
    if (group.is_here(place.member)) here.push_back({shard, false, place.member});
  return here;
}

std::uint64_t coordinator_core::epoch_of(const aggregator_state& aggregator) const {
  return frame_epoch(epoch_, aggregator.incarnation - 1);
}

std::vector<std::uint64_t> coordinator_core::epochs_of(const job_record& job,
                                                       std::uint32_t aggregator) const {
  if (aggregator != no_aggregator) return {epoch_of(job.aggregators[aggregator])};
  std::vector<std::uint64_t> epochs;
  for (const auto& group : groups_of_)
    epochs.push_back(frame_epoch(epoch_, group.serving_view()));
  return epochs;
}

// Once all are in: who leads whom. Processes may know it from the coordinator before this one,
// and say so. Calls to one process are carried out in their order.
void coordinator_core::pair_up(coordinator_effects& out) {
  if (!cluster_.has_chains()) return;
  for (std::uint32_t shard = 0; shard < cluster_.shards; ++shard)
    if (!groups_of_[shard].is_lost()) pair_up(shard, out);
}

void coordinator_core::pair_up(std::uint32_t shard, coordinator_effects& out) {
  const auto& group = groups_of_[shard];
  if (group.serving_view() > 0) promote(shard, out);
  const auto last = static_cast<std::uint32_t>(group.chain().size()) - 1;
  for (std::uint32_t at = 0; at < last; ++at)
    if (at + 1 < last || group.tail_in_sync())
      link(shard, at, true, out);
    else
      set_up_replica(shard, out);
  if (!welcome_replica(shard, out) && group.chain()[last].view > 0)
    lead_nobody(shard, last, out);
}

std::string coordinator_core::name_of(callee recipient) const {
  if (slots_.shards() > 0)
    return "shard " + std::to_string(recipient.index) + " on " +
           place_of(recipient.index, recipient.member);
  return recipient.member == 0
             ? "shard " + std::to_string(recipient.index)
             : "replica " + std::to_string(replica_index(cluster_.shards, recipient.index,
                                                         recipient.member));
}

// Of the chain, the one at `at` leads the one behind it, which has all but what is on its way.
// It hears of it second, so that it hands nothing to one that does not know it. First pairs
// hear of it before they have a job, in any order. `holds_up`: one that may have led nobody so
// far must not serve before.
void coordinator_core::link(std::uint32_t shard, std::uint32_t at, bool holds_up,
                            coordinator_effects& out) {
  const auto& group = groups_of_[shard];
  const auto before = in_chain(shard, at);
  const auto behind = in_chain(shard, at + 1);
  const auto view = group.chain()[at].view;
  const auto pair = make_group(no_job, 0);
  auto& of = groups_.at(pair);
  const bool at_once = view == 0;
  of.about = new_replica{shard, view, holds_up && !at_once};
  if (holds_up && !at_once) ++linking_;
  const lead_call leads{view, group.address(behind.member), true};
  if (!at_once) of.later.push_back({{before, leads}});
  call(pair, behind, follow_call{view, group.address(before.member)}, out);
  if (at_once) call(pair, before, leads, out);
}

void coordinator_core::linked(std::int64_t now, const call_group& done,
                              coordinator_effects& out) {
  const auto& replica = std::get<new_replica>(done.about);
  const auto name = "shard " + std::to_string(replica.shard);
  auto& of = groups_of_[replica.shard];
  const bool had_all = of.tail_in_sync();
  if (!done.failure.ok()) event(now, "replica_failed", name + ": " + done.failure.message());
  if (done.failure.ok() && of.in_sync(replica.view)) {
    if (!had_all) record_group(replica.shard, out);
    if (!had_all || (replica.view == 0 && !goes_on_)) event(now, "replica_in_sync", name);
    welcome_replica(replica.shard, out);
    move_on(replica.shard, out);
  }
  if (!replica.holds_up || --linking_ > 0) return;
  let_leave(out);
  admit_late(out);
  admit_early(out);
}

void coordinator_core::lead_nobody(std::uint32_t shard, std::uint32_t at,
                                   coordinator_effects& out) {
  const auto last = make_group(no_job, 0);
  groups_.at(last).about = new_replica{shard, no_view};
  call(last, in_chain(shard, at), lead_call{groups_of_[shard].chain()[at].view, "", true}, out);
}

// Before all are in nobody is called: pair_up() does it then.
void coordinator_core::member_left(std::int64_t now, callee recipient, const std::string& why,
                                   coordinator_effects& out) {
  using kind = shard_group::change;
  auto& group = groups_of_[recipient.index];
  const auto name = "shard " + std::to_string(recipient.index);
  const bool were_in = all_in();
  const auto [change, before] = group.left(recipient.member);
  if (change != kind::none) record_group(recipient.index, out);
  // Nothing is asked of its successor before that knows what it is.
  if (change == kind::promoted && were_in) moving_.insert(recipient.index);
  answer_for_the_dead(now, no_job, recipient, out);
  if (change == kind::lost)
    event(now, "shard_gone", name + ": no replica has everything; " + why);
  const bool has_all =
      group.tail_in_sync() || runtime::is_planted(runtime::planted_bug::tail_not_seeded_anew);
  const bool seeds = before + 2 == group.chain().size() && !has_all;
  if (change == kind::relinked && were_in)
    seeds ? set_up_replica(recipient.index, out) : link(recipient.index, before, false, out);
  if (change == kind::cut && were_in && !welcome_replica(recipient.index, out))
    lead_nobody(recipient.index, before, out);
  if (change == kind::promoted) {
    event(now, "replica_promoted", name);
    forget_parts(now, recipient.index, out);
    if (were_in) promote(recipient.index, out);
  }
  note_moved(now, recipient.index);
  move_on(recipient.index, out);
}

// Checkpoints that another process was to write a part of.
void coordinator_core::forget_parts(std::int64_t now, std::uint32_t shard,
                                    coordinator_effects& out) {
  for (std::size_t index = 0; index < jobs_.size(); ++index) {
    auto& rounds = jobs_[index].rounds;
    if (!rounds) continue;
    std::erase_if(asked_, [&](const auto& entry) {
      return entry.second.job == index && entry.second.shard == shard;
    });
    checkpoint_effects effects;
    rounds->shard_moved(shard, effects);
    carry_out(now, index, effects, out);
  }
}

// Whoever takes its place is called, too, or is set up anew.
void coordinator_core::answer_for_the_dead(std::int64_t now, std::size_t job, callee recipient,
                                           coordinator_effects& out) {
  std::vector<call_id> open;
  for (const auto& [id, call] : calls_) {
    const auto group = groups_.find(call.group);
    if (call.recipient != recipient || group == groups_.end()) continue;
    if (!recipient.aggregator || group->second.job == job) open.push_back(id);
  }
  for (const auto id : open)
    call_done(now, id, {runtime::errc::unavailable, "it has died"}, out);
}

void coordinator_core::repeat_calls(std::int64_t now, std::size_t job, callee to,
                                    coordinator_effects& out) {
  for (const auto& [id, call] : calls_) {
    const auto group = groups_.find(call.group);
    if (call.recipient != to || group == groups_.end()) continue;
    if (to.aggregator && group->second.job != job) continue;
    out.calls.push_back(
        {to.index, id, call.content, to.aggregator ? jobs_[job].spec.name : "", to.member});
  }
  // The report of a part may have been lost with the connection, and is sent once.
  if (!to.aggregator && groups_of_[to.index].primary() == to.member)
    forget_parts(now, to.index, out);
}

// What the dead one would have said of the worker's clock, its successor says.
void coordinator_core::admit_again(const call_group& before, coordinator_effects& out) {
  const auto group = make_group(before.job, 0);
  auto& calls = groups_.at(group);
  calls.waiting = before.waiting;
  calls.about = before.about;
  call_for(group, std::get<worker_hello>(before.about), out);
}

void coordinator_core::promote(std::uint32_t shard, coordinator_effects& out) {
  const auto& group = groups_of_[shard];
  moving_.insert(shard);
  const auto moves = make_group(no_job, 0);
  groups_.at(moves).about = promotion{shard, group.serving_view()};
  call(moves, primary_of(shard),
       promote_call{group.serving_view(), frame_epoch(epoch_, group.serving_view())}, out);
}

void coordinator_core::promoted(std::int64_t now, const promotion& promoted,
                                const runtime::status& result, coordinator_effects& out) {
  // It died before it heard of it, and the next one is to be told.
  if (groups_of_[promoted.shard].serving_view() != promoted.view) return;
  moving_.erase(promoted.shard);
  if (!result.ok())
    event(now, "replica_failed",
          "shard " + std::to_string(promoted.shard) + ": " + result.message());
  else if (!groups_of_[promoted.shard].is_lost())
    tell_moved(promoted.shard, out);
  move_on(promoted.shard, out);
  if (!moving_.empty()) return;
  for (std::size_t job = 0; job < jobs_.size(); ++job) set_up_aggregators(job, out);
  let_leave(out);
  admit_late(out);
  admit_early(out);
}

shard_moved coordinator_core::move_of(std::uint32_t shard) const {
  const auto& group = groups_of_[shard];
  return {shard, frame_epoch(epoch_, group.serving_view()), group.primary_address()};
}

void coordinator_core::moves_of(const std::string& name, std::uint32_t rank,
                                std::uint32_t incarnation, coordinator_effects& out) {
  auto* at = find(name);
  if (!at || rank >= at->workers.size()) return;
  if (auto& worker = at->workers[rank]; worker.incarnation == incarnation) worker.away = false;
  moves_above(*at, at->sums.of_worker[rank], {name, rank, false, {}}, out);
}

// Who is to serve, and has not heard of it yet, is told of when it has.
void coordinator_core::moves_above(const job_record& job, std::uint32_t aggregator,
                                   coordinator_effects::tell_moved listener,
                                   coordinator_effects& out) const {
  if (!all_in()) return;
  if (listener.aggregates &&
      runtime::is_planted(runtime::planted_bug::returned_aggregator_not_told_of_moves))
    return;
  if (aggregator != no_aggregator) {
    const auto& above = job.aggregators[aggregator];
    listener.message = {0, epoch_of(above), above.address};
    if (above.at == aggregator_state::stage::ready) out.moves.push_back(std::move(listener));
    return;
  }
  for (std::uint32_t shard = 0; shard < groups_of_.size(); ++shard)
    if (groups_of_[shard].serving_view() > 0 && !groups_of_[shard].is_lost() &&
        !moving_.contains(shard)) {
      listener.message = move_of(shard);
      out.moves.push_back(listener);
    }
}

// Those who push to shards. One that is being let in hears it with its welcome.
void coordinator_core::tell_moved(std::uint32_t shard, coordinator_effects& out) const {
  const auto moved = move_of(shard);
  for (const auto& job : jobs_) {
    if (job.state == job_state::failed || job.state == job_state::done) continue;
    for (std::uint32_t at = 0; at < job.sums.aggregators.size(); ++at)
      if (job.sums.aggregators[at].parent == no_aggregator &&
          !job.aggregators[at].address.empty())
        out.moves.push_back({job.spec.name, at, true, moved});
    for (std::uint32_t rank = 0; rank < job.workers.size(); ++rank)
      if (job.workers[rank].joined && job.sums.of_worker[rank] == no_aggregator)
        out.moves.push_back({job.spec.name, rank, false, moved});
  }
}

// The next of those who wait, if it may.
bool coordinator_core::welcome_replica(std::uint32_t shard, coordinator_effects& out) {
  auto& group = groups_of_[shard];
  if (!group.candidate()) return false;
  group.welcome();
  record_group(shard, out);
  set_up_replica(shard, out);
  return true;
}

// The last of the chain, which is not in sync: it is told of all that is open, then the one
// before it hands the chunks over while training goes on.
void coordinator_core::set_up_replica(std::uint32_t shard, coordinator_effects& out) {
  const auto& group = groups_of_[shard];
  const auto chain = group.chain();
  const auto before = in_chain(shard, chain.size() - 2);
  const auto recipient = in_chain(shard, chain.size() - 1);
  const auto view = chain[chain.size() - 2].view;
  std::vector<staged_call> first;
  first.push_back({recipient, follow_call{view, group.address(before.member)}});
  for (std::size_t index = 0; index < jobs_.size(); ++index)
    stage_for_replica(first, index, recipient);
  const auto setting_up = make_group(no_job, 0);
  auto& of = groups_.at(setting_up);
  of.about = new_replica{shard, view};
  of.later.push_back({{before, lead_call{view, group.address(recipient.member), false}}});
  for (auto& staged : first) call(setting_up, staged.recipient, std::move(staged.call), out);
}

void coordinator_core::stage_for_replica(std::vector<staged_call>& calls, std::size_t index,
                                         callee recipient) const {
  const auto& job = jobs_[index];
  if (job.state == job_state::failed || job.state == job_state::done) return;
  auto opening = job_call(job);
  opening.epoch = 0;
  calls.push_back({recipient, opening});
  for (const auto& change : job.changes)
    calls.push_back({recipient, roster_call{job.token, change}});
  // A rank that is to join: the others have been asked already.
  for (const auto& [id, group] : groups_)
    if (const auto* join = std::get_if<joining>(&group.about); join && group.job == index)
      calls.push_back({recipient, hold_call{job.token, join->clock, join->hello.rank}});
  for (const auto& table : tables_) {
    if (table.job != index) continue;
    auto mine = call_of(table);
    std::copy_if(table.grant.places.begin(), table.grant.places.end(),
                 std::back_inserter(mine.places),
                 [&](const chunk_place& place) { return place.shard == recipient.index; });
    if (!mine.places.empty()) calls.push_back({recipient, std::move(mine)});
  }
  for (std::uint32_t at = 0; at < job.sums.aggregators.size(); ++at)
    if (job.sums.aggregators[at].parent == no_aggregator)
      for (const auto& node : job.sums.aggregators[at].nodes)
        calls.push_back({recipient, admit_worker_call{job.token,
                                                      node.first,
                                                      job.aggregators[at].incarnation,
                                                      job.aggregators[at].address,
                                                      {}}});
  // One that has finished may have come back, and ask.
  for (std::uint32_t rank = 0; rank < job.workers.size(); ++rank) {
    const auto& worker = job.workers[rank];
    if (worker.incarnation == 0 || worker.absent || job.sums.of_worker[rank] != no_aggregator)
      continue;
    calls.push_back({recipient, admit_worker_call{job.token, rank, worker.incarnation,
                                                  worker.address, tables_of(job, rank)}});
  }
}

}  // namespace tidegate::policies
