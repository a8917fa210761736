#include <algorithm>
#include <utility>

#include "policies/coordinator/member_changes.hpp"
#include "policies/coordinator/state.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"

namespace tidegate::policies::coordination {

using runtime::errc;
using runtime::is_planted;
using runtime::planted_bug;

void member_changes::worker_leaves(std::int64_t now, const std::string& name,
                                   std::uint32_t rank, ticket requester,
                                   coordinator_effects& out) {
  auto* job = state_.jobs.find(name);
  if (!job || rank >= job->workers.size())
    return refuse(requester, errc::not_found, "no rank " + std::to_string(rank) + " of " + name,
                  out);
  if (job->has_ended())
    return refuse(requester, errc::cancelled, "job " + name + " has ended", out);
  auto& worker = job->workers[rank];
  // One that has died while it waited is not admitted any more.
  state_.admissions.refuse_early(name, rank, "it leaves", out);
  const auto index = state_.jobs.index_of(*job);
  if (wait_for_leaving(index, rank, requester)) return;
  // It had not joined yet; or, told before this process began, all hear of it again (open_job).
  if (worker.absent) {
    if (std::exchange(worker.invited, false)) record(*job, rank, out);
    return out.answers.push_back({requester, {}, {}});
  }
  if (worker.finished && !worker.leaves) return out.answers.push_back({requester, {}, {}});
  const bool others =
      std::any_of(job->workers.begin(), job->workers.end(), [&](const worker_state& other) {
        return &other != &worker && !other.finished && !other.leaves;
      });
  if (!others && !worker.leaves)
    return refuse(requester, errc::refused,
                  "rank " + std::to_string(rank) + " is the last of job " + name, out);
  state_.events.add(now, "worker_leaves", name + " rank " + std::to_string(rank),
                    {.job = name, .rank = rank});
  worker.leaves = true;
  auto& waiting = leaving_.emplace_back();
  waiting.job = index;
  waiting.about = leaving{rank};
  waiting.waiting.push_back(requester);
  let_leave(out);
}

// Returns true if this rank is on its way out already, and makes the requester wait for it.
bool member_changes::wait_for_leaving(std::size_t job, std::uint32_t rank, ticket requester) {
  const auto is_it = [&](const call_group& group) {
    const auto* leave = std::get_if<leaving>(&group.about);
    const auto* departure = std::get_if<leaving_told>(&group.about);
    return group.job == job &&
           ((leave && leave->rank == rank) || (departure && departure->rank == rank));
  };
  auto* group = state_.calls.find_if(is_it);
  if (!group)
    if (const auto at = std::find_if(leaving_.begin(), leaving_.end(), is_it);
        at != leaving_.end())
      group = &*at;
  if (group) group->waiting.push_back(requester);
  return group != nullptr;
}

// Those for which all are there that must be asked.
void member_changes::let_leave(coordinator_effects& out) {
  for (auto& waiting : std::exchange(leaving_, {})) {
    const auto rank = std::get<leaving>(waiting.about).rank;
    const auto& job = state_.jobs[waiting.job];
    if (!state_.admissions.may_admit(
            {.job = job.spec.name, .rank = rank, .incarnation = 0, .address = ""}) ||
        !state_.aggregators.all_ready(job)) {
      leaving_.push_back(std::move(waiting));
      continue;
    }
    const auto group = state_.calls.make_group(waiting.job, 0);
    state_.calls.group(group).about = leaving{rank};
    state_.calls.group(group).waiting = std::move(waiting.waiting);
    ask_of_sums(job, rank, state_.calls.group(group).later);
    for (const auto& recipient : state_.aggregators.upstream_of(job.sums.of_worker[rank]))
      state_.calls.call(group, recipient,
                        shut_out_call{.token = job.token, .rank = rank, .only_asks = false},
                        out);
  }
}

// An aggregator that took the place of another does not know what that one had handed on of
// the rank; those above do, from there upwards.
void member_changes::ask_of_sums(const job_record& job, std::uint32_t rank,
                                 std::vector<std::vector<staged_call>>& later) const {
  for (auto at = job.sums.of_worker[rank]; at != no_aggregator;) {
    const auto& place = job.sums.aggregators[at];
    const auto node = std::find_if(
        place.nodes.begin(), place.nodes.end(),
        [&](const rank_node& child) { return child.first <= rank && rank < child.end; });
    TIDEGATE_ASSERT(node != place.nodes.end(), "an aggregator hands on all that it sums");
    std::vector<staged_call> asked;
    for (const auto& above : state_.aggregators.upstream_of(place.parent))
      asked.push_back(
          {above, shut_out_call{.token = job.token, .rank = node->first, .only_asks = true}});
    later.insert(later.begin(), std::move(asked));
    at = place.parent;
  }
}

void member_changes::shut_out(std::int64_t now, const call_group& done, std::uint32_t rank,
                              coordinator_effects& out) {
  auto& job = state_.jobs[done.job];
  auto& worker = job.workers[rank];
  if (done.died || done.sum_died) {  // its successor has other pushes, and is asked
    auto& again = leaving_.emplace_back();
    again.job = done.job;
    again.about = done.about;
    again.waiting = done.waiting;
    const auto at = job.sums.of_worker[rank];
    const bool missed =
        done.died ? state_.replicas[done.died->shard].serving_view() != done.died->view
                  : job.aggregators[at].incarnation != *done.sum_died;
    return missed ? let_leave(out) : void();
  }
  if (!done.failure.ok()) {
    worker.leaves = false;
    for (const auto requester : done.waiting)
      refuse(requester, errc::unavailable, done.failure.message(), out);
    return;
  }
  const auto clock = is_planted(planted_bug::leaves_where_the_last_chunk_is) ? done.first_clock
                                                                             : done.last_clock;
  // Where no table is open, nobody knows.
  change_membership(now, job, rank, std::max(clock, worker.since), false, out);
  tell_left(done.job, rank, done.waiting, out);
}

void member_changes::tell_left(std::size_t index, std::uint32_t rank,
                               std::vector<ticket> waiting, coordinator_effects& out) {
  const auto& job = state_.jobs[index];
  const auto group = state_.calls.make_group(index, 0);
  auto& of = state_.calls.group(group);
  of.about = leaving_told{rank};
  of.waiting = std::move(waiting);
  const membership_call message{job.token, job.changes.back()};
  if (!message.change.pushes_here) {
    auto mine = message;
    mine.change.pushes_here = true;
    of.later.push_back({{{job.sums.of_worker[rank], true}, mine}});
  }
  const bool planted = is_planted(planted_bug::who_left_forgotten_by_the_next_primary);
  for (const auto& recipient : state_.aggregators.upstream_of(no_aggregator))
    if (!planted || recipient == state_.replicas.primary_of(recipient.index))
      state_.calls.call(group, recipient, message, out);
}

bool member_changes::shards_hear_of(std::size_t job, std::uint32_t rank) const {
  return std::any_of(
      state_.calls.groups().begin(), state_.calls.groups().end(), [&](const auto& entry) {
        const auto& of = entry.second;
        const auto* answer = std::get_if<leaving_told>(&of.about);
        return answer && answer->rank == rank && of.job == job && !of.later.empty();
      });
}

// Who has died hears of it, or its successor does, when that is set up.
void member_changes::left_told(std::int64_t now, const call_group& done,
                               coordinator_effects& out) {
  auto& job = state_.jobs[done.job];
  job.workers[std::get<leaving_told>(done.about).rank].leaves = false;
  for (const auto requester : done.waiting) out.answers.push_back({requester, {}, {}});
  if (!done.failure.ok())
    return state_.lifecycle.fail_job(now, job.spec.name,
                                     "a worker cannot leave: " + done.failure.message(), out);
  state_.lifecycle.maybe_ended(now, job, out);
}

void member_changes::cancel(std::size_t job, const std::string& why, coordinator_effects& out) {
  std::erase_if(leaving_, [&](const call_group& waiting) {
    if (waiting.job != job) return false;
    refuse_all(waiting, why, out);
    return true;
  });
}

}  // namespace tidegate::policies::coordination
