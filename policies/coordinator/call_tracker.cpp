#include "policies/coordinator/call_tracker.hpp"

#include <algorithm>
#include <utility>

#include "policies/coordinator/state.hpp"

namespace tidegate::policies::coordination {

using runtime::errc;

namespace {

struct call_text {
  std::string operator()(const open_job_call& call) const { return "open job " + call.name; }
  std::string operator()(const open_table_call& call) const {
    return (call.restore.number > 0 ? "restore table " : "open table ") + call.name;
  }
  std::string operator()(const admit_worker_call& call) const {
    return "admit rank " + std::to_string(call.rank);
  }
  std::string operator()(const close_job_call&) const { return "close a job"; }
  std::string operator()(const checkpoint_call&) const { return "begin a checkpoint"; }
  std::string operator()(const lead_call&) const { return "hand everything to its replica"; }
  std::string operator()(const follow_call&) const { return "follow as a replica"; }
  std::string operator()(const promote_call&) const { return "serve as the primary"; }
  std::string operator()(const sum_progress_call&) const { return "tell what it has summed"; }
  std::string operator()(const shut_out_call& call) const {
    return "shut out rank " + std::to_string(call.rank);
  }
  std::string operator()(const membership_call& call) const {
    return "take in the change of rank " + std::to_string(call.change.rank);
  }
  std::string operator()(const join_barrier_call& call) const {
    return call.clock == clock_vector::infinity ? "let go of a clock that it holds"
                                                : "hold clock " + std::to_string(call.clock);
  }
};

}  // namespace

void refuse_all(const call_group& group, const std::string& why, coordinator_effects& out) {
  for (const auto requester : group.waiting) refuse(requester, errc::cancelled, why, out);
}

group_id call_tracker::make_group(std::size_t job, ticket requester) {
  const auto id = ++last_id_;
  auto& group = groups_[id];
  group.job = job;
  if (requester != 0) group.waiting.push_back(requester);
  return id;
}

void call_tracker::call(group_id group, callee recipient, shard_call call,
                        coordinator_effects& out) {
  const auto id = ++last_id_;
  const bool replica =
      !recipient.aggregator && state_.replicas.primary_of(recipient.index) != recipient;
  auto& of = groups_.at(group);
  const bool sets_up = std::holds_alternative<aggregator_set_up>(of.about);
  const auto* sum =
      recipient.aggregator ? &state_.jobs[of.job].aggregators[recipient.index] : nullptr;
  // One that is not ready is told of all that there is when it is set up.
  const bool may_fail = (sum && !sets_up && sum->at != aggregator_state::stage::ready) ||
                        ((std::holds_alternative<new_replica>(of.about) || sets_up) &&
                         std::holds_alternative<admit_worker_call>(call));
  calls_[id] = {
      .group = group,
      .recipient = recipient,
      .primary = !replica,
      .may_fail = may_fail,
      .view = recipient.aggregator ? 0 : state_.replicas[recipient.index].serving_view(),
      .incarnation = sum ? sum->incarnation : 0,
      .content = call};
  ++of.remaining;
  out.calls.push_back({recipient.index, id, std::move(call),
                       recipient.aggregator ? state_.jobs[of.job].spec.name : "",
                       recipient.member});
}

bool call_tracker::has_died(const open_call& asked, const call_group& of,
                            const runtime::status& result) const {
  if (of.job == no_job || result.ok()) return false;
  if (!asked.recipient.aggregator)
    return state_.cluster.has_chains() && result.code() == errc::unavailable;
  const auto& aggregator = state_.jobs[of.job].aggregators[asked.recipient.index];
  return result.code() == errc::unavailable || aggregator.incarnation != asked.incarnation;
}

void call_tracker::note(const open_call& asked, call_group& of, const runtime::status& result,
                        std::uint64_t answer, std::span<const chunk_clock> clocks) const {
  // We shall hear of its death; whoever takes its place has been called, too, or hears when it
  // is set up.
  const bool died = has_died(asked, of, result);
  if (died && !asked.recipient.aggregator && asked.primary)
    of.died = {asked.recipient.index, asked.view};
  if (died && asked.recipient.aggregator && !asked.may_fail) of.sum_died = asked.incarnation;
  const bool replaced =
      of.job != no_job && aggregator_recovery::is_replaced(state_.jobs[of.job], asked.content);
  if (!result.ok() && !died && !replaced && !asked.may_fail && of.failure.ok())
    of.failure = result;
  if (result.ok() && asked.primary) {
    of.first_clock = std::min(of.first_clock, answer);
    of.last_clock = std::max(of.last_clock, answer);
  }
  for (const auto& clock : clocks) {
    const auto at = of.clocks.try_emplace({clock.table, clock.chunk}, clock.clock).first;
    at->second = std::min(at->second, clock.clock);
  }
}

// Returns true if somebody has been called.
bool call_tracker::begin_next_stage(group_id id, call_group& group, coordinator_effects& out) {
  // Who was to lead may be another process by now.
  if (const auto* replica = std::get_if<new_replica>(&group.about);
      replica && !state_.replicas[replica->shard].is_pair(replica->view))
    group.later.clear();
  if (!group.failure.ok() || group.later.empty()) return false;
  const auto next = std::move(group.later.back());
  group.later.pop_back();
  for (const auto& staged : next) call(id, staged.recipient, staged.call, out);
  return !next.empty();
}

void call_tracker::answered(std::int64_t now, call_id call, const runtime::status& result,
                            coordinator_effects& out, std::uint64_t answer,
                            std::span<const chunk_clock> clocks) {
  if (state_.checkpoints.answered(now, call, result, answer, out)) return;
  const auto at = calls_.find(call);
  if (at == calls_.end()) return;
  const auto asked = std::move(at->second);
  calls_.erase(at);
  const auto group = groups_.find(asked.group);
  if (group == groups_.end()) return;  // its job failed meanwhile
  note(asked, group->second, result, answer, clocks);
  if (--group->second.remaining > 0) return;
  if (begin_next_stage(group->first, group->second, out)) return;
  auto done = std::move(group->second);
  groups_.erase(group);
  state_.close(now, done, out);
}

// Whoever takes its place is called, too, or is set up anew.
void call_tracker::answer_for_the_dead(std::int64_t now, std::size_t job, callee recipient,
                                       coordinator_effects& out) {
  std::vector<call_id> open;
  for (const auto& [id, call] : calls_) {
    const auto group = groups_.find(call.group);
    if (call.recipient != recipient || group == groups_.end()) continue;
    if (!recipient.aggregator || group->second.job == job) open.push_back(id);
  }
  for (const auto id : open) answered(now, id, {errc::unavailable, "it has died"}, out);
}

void call_tracker::repeat_calls(std::int64_t now, std::size_t job, callee to,
                                coordinator_effects& out) {
  for (const auto& [id, call] : calls_) {
    const auto group = groups_.find(call.group);
    if (call.recipient != to || group == groups_.end()) continue;
    if (to.aggregator && group->second.job != job) continue;
    out.calls.push_back({to.index, id, call.content,
                         to.aggregator ? state_.jobs[job].spec.name : "", to.member});
  }
  // The report of a part may have been lost with the connection, and is sent once.
  if (!to.aggregator && state_.replicas[to.index].primary() == to.member)
    state_.checkpoints.forget_parts(now, to.index, out);
}

void call_tracker::cancel(std::size_t job, const std::string& why, coordinator_effects& out) {
  std::erase_if(groups_, [&](const auto& entry) {
    if (entry.second.job != job) return false;
    refuse_all(entry.second, why, out);
    return true;
  });
}

std::vector<std::string> call_tracker::awaited() const {
  std::vector<std::string> lines;
  for (const auto& [id, call] : calls_) {
    const auto group = groups_.find(call.group);
    if (group == groups_.end()) continue;
    const auto name = call.recipient.aggregator
                          ? "aggregator " + std::to_string(call.recipient.index) + " of job " +
                                state_.jobs[group->second.job].spec.name
                          : state_.replicas.name_of(call.recipient);
    lines.push_back(name + " to " + std::visit(call_text(), call.content));
  }
  return lines;
}

}  // namespace tidegate::policies::coordination
