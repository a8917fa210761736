#include "policies/coordinator/replica_manager.hpp"

#include <algorithm>
#include <utility>

#include "policies/coordinator/state.hpp"
#include "policies/protocol/frame_epoch.hpp"
#include "runtime/base/planted.hpp"

namespace tidegate::policies::coordination {

using runtime::errc;
using runtime::is_planted;
using runtime::planted_bug;

replica_manager::replica_manager(coordinator_state& state)
    : state_(state), groups_(state.cluster.shards, replica_chain(state.cluster.replicas)) {
  const auto& cluster = state.cluster;
  if (cluster.slots == 0) return;
  const shard_map slots(cluster.shards, cluster.replicas, cluster.slots);
  for (std::uint32_t shard = 0; shard < cluster.shards; ++shard)
    groups_[shard] = replica_chain(slots.members(), slots.wanted_of(shard));
}

void replica_manager::go_on(const recorded_cluster& before) {
  for (const auto& group : before.groups) groups_[group.shard] = replica_chain(group.state);
}

bool replica_manager::is_first(std::uint32_t shard, std::uint32_t member) const {
  return state_.mover.slots().process_of(shard, member).place == 0;
}

// Who waits to be a replica is told of everything when it becomes one.
std::vector<callee> replica_manager::members_of(std::uint32_t shard) const {
  const auto& group = groups_[shard];
  std::vector<callee> here;
  for (const auto& place : group.chain())
    if (group.is_here(place.member)) here.push_back({shard, false, place.member});
  return here;
}

// Once all are in: who leads whom. Processes may know it from the coordinator before this one,
// and say so. Calls to one process are carried out in their order.
void replica_manager::pair_up(coordinator_effects& out) {
  if (!state_.cluster.has_chains()) return;
  for (std::uint32_t shard = 0; shard < state_.cluster.shards; ++shard)
    if (!groups_[shard].is_lost()) pair_up(shard, out);
}

void replica_manager::pair_up(std::uint32_t shard, coordinator_effects& out) {
  const auto& group = groups_[shard];
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

std::string replica_manager::name_of(callee recipient) const {
  if (state_.mover.moves())
    return "shard " + std::to_string(recipient.index) + " on " +
           state_.mover.place_of(recipient.index, recipient.member);
  return recipient.member == 0
             ? "shard " + std::to_string(recipient.index)
             : "replica " + std::to_string(replica_index(state_.cluster.shards, recipient.index,
                                                         recipient.member));
}

std::string replica_manager::process_of(callee recipient) const {
  if (state_.mover.moves()) return state_.mover.place_of(recipient.index, recipient.member);
  if (recipient.member == 0)
    return process_name{.role = process_role::shard, .job = {}, .index = recipient.index}
        .to_string();
  return process_name{
      .role = process_role::replica,
      .job = {},
      .index = replica_index(state_.cluster.shards, recipient.index, recipient.member)}
      .to_string();
}

// Of the chain, the one at `at` leads the one behind it, which has all but what is on its way.
// It hears of it second, so that it hands nothing to one that does not know it. First pairs
// hear of it before they have a job, in any order. `holds_up`: one that may have led nobody so
// far must not serve before.
void replica_manager::link(std::uint32_t shard, std::uint32_t at, bool holds_up,
                           coordinator_effects& out) {
  const auto& group = groups_[shard];
  const auto before = in_chain(shard, at);
  const auto behind = in_chain(shard, at + 1);
  const auto view = group.chain()[at].view;
  const auto pair = state_.calls.make_group(no_job, 0);
  auto& of = state_.calls.group(pair);
  const bool at_once = view == 0;
  of.about = new_replica{.shard = shard, .view = view, .holds_up = holds_up && !at_once};
  if (holds_up && !at_once) ++linking_;
  const lead_call leads{.view = view, .address = group.address(behind.member), .has_all = true};
  if (!at_once) of.later.push_back({{before, leads}});
  state_.calls.call(pair, behind, follow_call{view, group.address(before.member)}, out);
  if (at_once) state_.calls.call(pair, before, leads, out);
}

void replica_manager::linked(std::int64_t now, const call_group& done,
                             coordinator_effects& out) {
  const auto& replica = std::get<new_replica>(done.about);
  const auto name = "shard " + std::to_string(replica.shard);
  auto& of = groups_[replica.shard];
  const bool had_all = of.tail_in_sync();
  if (!done.failure.ok())
    state_.events.add(now, "replica_failed", name + ": " + done.failure.message(),
                      {.process = process_of({.index = replica.shard, .aggregator = false}),
                       .cause = done.failure.message()});
  if (done.failure.ok() && of.in_sync(replica.view)) {
    if (!had_all) record_group(replica.shard, out);
    if (!had_all || (replica.view == 0 && !state_.goes_on))
      state_.events.add(now, "replica_in_sync", name,
                        {.process = process_of({.index = replica.shard, .aggregator = false})});
    welcome_replica(replica.shard, out);
    state_.mover.move_on(replica.shard, out);
  }
  if (!replica.holds_up || --linking_ > 0) return;
  state_.let_go_on(out);
}

void replica_manager::lead_nobody(std::uint32_t shard, std::uint32_t at,
                                  coordinator_effects& out) {
  const auto last = state_.calls.make_group(no_job, 0);
  state_.calls.group(last).about = new_replica{shard, no_view};
  state_.calls.call(
      last, in_chain(shard, at),
      lead_call{.view = groups_[shard].chain()[at].view, .address = "", .has_all = true}, out);
}

// Before all are in nobody is called: pair_up() does it then.
void replica_manager::member_left(std::int64_t now, callee recipient, const std::string& why,
                                  coordinator_effects& out) {
  using kind = replica_chain::change;
  auto& group = groups_[recipient.index];
  const auto name = "shard " + std::to_string(recipient.index);
  const bool were_in = state_.lifecycle.all_in();
  const auto [change, before] = group.left(recipient.member);
  if (change != kind::none) record_group(recipient.index, out);
  // Nothing is asked of its successor before that knows what it is.
  if (change == kind::promoted && were_in) promoting_.insert(recipient.index);
  state_.calls.answer_for_the_dead(now, no_job, recipient, out);
  if (change == kind::lost)
    state_.events.add(now, "shard_gone", name + ": no replica has everything; " + why,
                      {.process = process_of(recipient), .cause = why});
  const bool has_all = group.tail_in_sync() || is_planted(planted_bug::tail_not_seeded_anew);
  const bool seeds = before + 2 == group.chain().size() && !has_all;
  if (change == kind::relinked && were_in)
    seeds ? set_up_replica(recipient.index, out) : link(recipient.index, before, false, out);
  if (change == kind::cut && were_in && !welcome_replica(recipient.index, out))
    lead_nobody(recipient.index, before, out);
  if (change == kind::promoted) {
    state_.events.add(now, "replica_promoted", name,
                      {.process = process_of(recipient), .cause = why});
    state_.checkpoints.forget_parts(now, recipient.index, out);
    if (were_in) promote(recipient.index, out);
  }
  state_.mover.note_moved(now, recipient.index);
  state_.mover.move_on(recipient.index, out);
}

void replica_manager::promote(std::uint32_t shard, coordinator_effects& out) {
  const auto& group = groups_[shard];
  promoting_.insert(shard);
  const auto moves = state_.calls.make_group(no_job, 0);
  state_.calls.group(moves).about = promotion{shard, group.serving_view()};
  state_.calls.call(
      moves, primary_of(shard),
      promote_call{group.serving_view(), frame_epoch(state_.epoch, group.serving_view())}, out);
}

void replica_manager::promoted(std::int64_t now, const promotion& promoted,
                               const runtime::status& result, coordinator_effects& out) {
  // It died before it heard of it, and the next one is to be told.
  if (groups_[promoted.shard].serving_view() != promoted.view) return;
  promoting_.erase(promoted.shard);
  if (!result.ok())
    state_.events.add(now, "replica_failed",
                      "shard " + std::to_string(promoted.shard) + ": " + result.message(),
                      {.process = process_of({.index = promoted.shard, .aggregator = false}),
                       .cause = result.message()});
  else if (!groups_[promoted.shard].is_lost())
    tell_moved(promoted.shard, out);
  state_.mover.move_on(promoted.shard, out);
  if (!promoting_.empty()) return;
  for (std::size_t job = 0; job < state_.jobs.size(); ++job)
    state_.aggregators.set_up(job, out);
  state_.let_go_on(out);
}

// The next of those who wait, if it may.
bool replica_manager::welcome_replica(std::uint32_t shard, coordinator_effects& out) {
  auto& group = groups_[shard];
  if (!group.candidate()) return false;
  group.welcome();
  record_group(shard, out);
  set_up_replica(shard, out);
  return true;
}

// The last of the chain, which is not in sync: it is told of all that is open, then the one
// before it hands the chunks over while training goes on.
void replica_manager::set_up_replica(std::uint32_t shard, coordinator_effects& out) {
  const auto& group = groups_[shard];
  const auto chain = group.chain();
  const auto before = in_chain(shard, chain.size() - 2);
  const auto recipient = in_chain(shard, chain.size() - 1);
  const auto view = chain[chain.size() - 2].view;
  std::vector<staged_call> first;
  first.push_back({recipient, follow_call{view, group.address(before.member)}});
  for (std::size_t index = 0; index < state_.jobs.size(); ++index)
    stage_for_replica(first, index, recipient);
  const auto setting_up = state_.calls.make_group(no_job, 0);
  auto& of = state_.calls.group(setting_up);
  of.about = new_replica{shard, view};
  of.later.push_back({{before, lead_call{.view = view,
                                         .address = group.address(recipient.member),
                                         .has_all = false}}});
  for (auto& staged : first)
    state_.calls.call(setting_up, staged.recipient, std::move(staged.call), out);
}

void replica_manager::stage_for_replica(std::vector<staged_call>& calls, std::size_t index,
                                        callee recipient) const {
  const auto& job = state_.jobs[index];
  if (job.has_ended()) return;
  auto opening = state_.job_call(job);
  opening.epoch = 0;
  calls.push_back({recipient, opening});
  for (const auto& change : job.changes)
    calls.push_back({recipient, membership_call{job.token, change}});
  // A rank that is to join: the others have been asked already.
  for (const auto& [id, group] : state_.calls.groups())
    if (const auto* join = std::get_if<joining>(&group.about); join && group.job == index)
      calls.push_back(
          {recipient, join_barrier_call{
                          .token = job.token, .clock = join->clock, .rank = join->hello.rank}});
  for (const auto& table : state_.tables) {
    if (table.job != index) continue;
    auto mine = state_.tables.call_of(table);
    std::copy_if(table.grant.places.begin(), table.grant.places.end(),
                 std::back_inserter(mine.places),
                 [&](const chunk_place& place) { return place.shard == recipient.index; });
    if (!mine.places.empty()) calls.push_back({recipient, std::move(mine)});
  }
  for (std::uint32_t at = 0; at < job.sums.aggregators.size(); ++at)
    if (job.sums.aggregators[at].parent == no_aggregator)
      for (const auto& node : job.sums.aggregators[at].nodes)
        calls.push_back(
            {recipient, admit_worker_call{.token = job.token,
                                          .rank = node.first,
                                          .incarnation = job.aggregators[at].incarnation,
                                          .address = job.aggregators[at].address,
                                          .tables = {}}});
  // One that has finished may have come back, and ask.
  for (std::uint32_t rank = 0; rank < job.workers.size(); ++rank) {
    const auto& worker = job.workers[rank];
    if (worker.incarnation == 0 || worker.absent || job.sums.of_worker[rank] != no_aggregator)
      continue;
    calls.push_back(
        {recipient, admit_worker_call{.token = job.token,
                                      .rank = rank,
                                      .incarnation = worker.incarnation,
                                      .address = worker.address,
                                      .tables = state_.tables.tables_of(job, rank)}});
  }
}

bool replica_manager::joined(std::int64_t now, std::uint32_t index, std::string address,
                             ticket requester, coordinator_effects& out, group_member member) {
  if (index >= state_.cluster.shards || member.number >= groups_[index].size()) {
    refuse(requester, errc::invalid_argument,
           "shard " + std::to_string(index) + " joins a cluster of " +
               std::to_string(state_.cluster.shards) + " shards",
           out);
    return false;
  }
  auto& group = groups_[index];
  if (!address.empty() && member.incarnation == group.incarnation(member.number) &&
      group.address(member.number) == address) {
    out.answers.push_back({requester, {}, {}});  // it has not heard that it is in
    state_.calls.repeat_calls(
        now, no_job, {.index = index, .aggregator = false, .member = member.number}, out);
    if (state_.mover.is_retiring(index, member.number))
      out.retirements.push_back({index, member.number});
    return true;
  }
  // The word of one that has died since may be late.
  const bool returns =
      group.is_awaited(member.number) && member.incarnation == group.incarnation(member.number);
  if (address.empty() || state_.mover.is_outdated(index, member) ||
      (member.incarnation <= group.incarnation(member.number) && !returns)) {
    refuse(requester, errc::already_exists,
           "shard " + std::to_string(index) + " is there already", out);
    return false;
  }
  const bool were_in = state_.lifecycle.all_in();
  if (group.was_here(member.number) && !returns)
    member_left(now, {.index = index, .aggregator = false, .member = member.number},
                "another process has taken its place", out);
  const auto change = group.joined(member.number, member.incarnation, std::move(address));
  state_.events.add(
      now, "shard_joined",
      name_of({.index = index, .aggregator = false, .member = member.number}) +
          (change == replica_chain::change::rejoined ? ", as the replica" : ""),
      {.process = process_of({.index = index, .aggregator = false, .member = member.number})});
  out.answers.push_back({requester, {}, {}});
  if (change == replica_chain::change::complete) record_group(index, out);
  state_.lifecycle.begin_if_all_in(were_in, now, out);
  if (were_in) welcome_replica(index, out);
  state_.mover.move_on(index, out);
  return true;
}

bool replica_manager::lost(std::int64_t now, std::uint32_t index, const std::string& why,
                           coordinator_effects& out, std::uint32_t member) {
  // Its process has said so. What was asked of it since, over a connection that was about to
  // end, nobody answers.
  if (state_.mover.moves() && !groups_[index].was_here(member)) {
    state_.calls.answer_for_the_dead(
        now, no_job, {.index = index, .aggregator = false, .member = member}, out);
    return true;
  }
  if (state_.mover.is_retiring(index, member))
    state_.events.add(
        now, "shard_left", name_of({.index = index, .aggregator = false, .member = member}),
        {.process = process_of({.index = index, .aggregator = false, .member = member})});
  else
    state_.events.add(
        now, is_first(index, member) ? "shard_lost" : "replica_lost",
        name_of({.index = index, .aggregator = false, .member = member}) + ": " + why,
        {.process = process_of({.index = index, .aggregator = false, .member = member}),
         .cause = why});
  if (!state_.cluster.has_chains()) return false;
  state_.mover.forget(index, member);
  member_left(now, {.index = index, .aggregator = false, .member = member}, why, out);
  return true;
}

void replica_manager::record_group(std::uint32_t shard, coordinator_effects& out) const {
  const auto& group = groups_[shard];
  if (is_planted(planted_bug::group_not_recorded)) return;
  if (state_.cluster.has_chains() && group.began())
    out.records.emplace_back(recorded_group{shard, group.now()});
}

shard_moved replica_manager::move_of(std::uint32_t shard) const {
  const auto& group = groups_[shard];
  return {.shard = shard,
          .epoch = frame_epoch(state_.epoch, group.serving_view()),
          .address = group.primary_address()};
}

// Who is to serve, and has not heard of it yet, is told of when it has.
void replica_manager::tell_moves_above(const job_record& job, std::uint32_t aggregator,
                                       coordinator_effects::tell_moved listener,
                                       coordinator_effects& out) const {
  if (!state_.lifecycle.all_in()) return;
  if (listener.aggregates && is_planted(planted_bug::returned_aggregator_not_told_of_moves))
    return;
  if (aggregator != no_aggregator) {
    const auto& above = job.aggregators[aggregator];
    listener.message = {
        .shard = 0, .epoch = state_.aggregators.epoch_of(above), .address = above.address};
    if (above.at == aggregator_state::stage::ready) out.moves.push_back(std::move(listener));
    return;
  }
  for (std::uint32_t shard = 0; shard < groups_.size(); ++shard)
    if (groups_[shard].serving_view() > 0 && !groups_[shard].is_lost() &&
        !promoting_.contains(shard)) {
      listener.message = move_of(shard);
      out.moves.push_back(listener);
    }
}

// Those who push to shards. One that is being let in hears it with its welcome.
void replica_manager::tell_moved(std::uint32_t shard, coordinator_effects& out) const {
  const auto moved = move_of(shard);
  for (const auto& job : state_.jobs) {
    if (job.has_ended()) continue;
    for (std::uint32_t at = 0; at < job.sums.aggregators.size(); ++at)
      if (job.sums.aggregators[at].parent == no_aggregator &&
          !job.aggregators[at].address.empty())
        out.moves.push_back({job.spec.name, at, true, moved});
    for (std::uint32_t rank = 0; rank < job.workers.size(); ++rank)
      if (job.workers[rank].joined && job.sums.of_worker[rank] == no_aggregator)
        out.moves.push_back({job.spec.name, rank, false, moved});
  }
}

}  // namespace tidegate::policies::coordination
