// How a worker leaves its job for good while the others go on (worker_loss_rule::shrink).
//
// Those that it pushed to refuse its frames and say how far it has come; the clock that the
// furthest chunk has not is the first that is without it, everywhere. That is recorded, then
// shards hear of it, then its aggregator: no sum of such a clock reaches a shard that does not
// know over how many workers its mean is.
#include <algorithm>
#include <utility>

#include "policies/coordinator/core.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"

namespace tidegate::policies {

using runtime::errc;
using runtime::is_planted;
using runtime::planted_bug;

void coordinator_core::worker_leaves(std::int64_t now, const std::string& name,
                                     std::uint32_t rank, ticket requester,
                                     coordinator_effects& out) {
  auto* job = find(name);
  if (!job || rank >= job->workers.size())
    return refuse(requester, errc::not_found, "no rank " + std::to_string(rank) + " of " + name,
                  out);
  if (job->state == job_state::done || job->state == job_state::failed)
    return refuse(requester, errc::cancelled, "job " + name + " has ended", out);
  auto& worker = job->workers[rank];
  // One that has died while it waited is not admitted any more.
  std::erase_if(early_workers_, [&](const auto& early) {
    const bool mine = early.first.job == name && early.first.rank == rank;
    if (mine) refuse(early.second, errc::cancelled, "it leaves", out);
    return mine;
  });
  const auto index = static_cast<std::size_t>(job - jobs_.data());
  const auto same = [&](const call_group& calls) {
    const auto* of = std::get_if<leaving>(&calls.about);
    const auto* departure = std::get_if<leaving_told>(&calls.about);
    return calls.job == index &&
           ((of && of->rank == rank) || (departure && departure->rank == rank));
  };
  for (auto& [id, group] : groups_)
    if (same(group)) return group.waiting.push_back(requester);
  for (auto& group : leaving_)
    if (same(group)) return group.waiting.push_back(requester);
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
  event(now, "worker_leaves", name + " rank " + std::to_string(rank));
  worker.leaves = true;
  auto& waiting = leaving_.emplace_back();
  waiting.job = index;
  waiting.about = leaving{rank};
  waiting.waiting.push_back(requester);
  let_leave(out);
}

// Those for which all are there that must be asked.
void coordinator_core::let_leave(coordinator_effects& out) {
  for (auto& waiting : std::exchange(leaving_, {})) {
    const auto rank = std::get<leaving>(waiting.about).rank;
    const auto& job = jobs_[waiting.job];
    if (!may_admit({job.spec.name, rank, 0, ""}) || !all_ready(job)) {
      leaving_.push_back(std::move(waiting));
      continue;
    }
    const auto group = make_group(waiting.job, 0);
    groups_.at(group).about = leaving{rank};
    groups_.at(group).waiting = std::move(waiting.waiting);
    ask_of_sums(job, rank, groups_.at(group).later);
    for (const auto& recipient : upstream_of(job.sums.of_worker[rank]))
      call(group, recipient, shut_out_call{job.token, rank, false}, out);
  }
}

// An aggregator that took the place of another does not know what that one had handed on of
// the rank; those above do, from there upwards.
void coordinator_core::ask_of_sums(const job_record& job, std::uint32_t rank,
                                   std::vector<std::vector<staged_call>>& later) const {
  for (auto at = job.sums.of_worker[rank]; at != no_aggregator;) {
    const auto& place = job.sums.aggregators[at];
    const auto node = std::find_if(
        place.nodes.begin(), place.nodes.end(),
        [&](const rank_node& child) { return child.first <= rank && rank < child.end; });
    TIDEGATE_ASSERT(node != place.nodes.end(), "an aggregator hands on all that it sums");
    std::vector<staged_call> asked;
    for (const auto& above : upstream_of(place.parent))
      asked.push_back({above, shut_out_call{job.token, node->first, true}});
    later.insert(later.begin(), std::move(asked));
    at = place.parent;
  }
}

void coordinator_core::shut_out(std::int64_t now, const call_group& done, std::uint32_t rank,
                                coordinator_effects& out) {
  auto& job = jobs_[done.job];
  auto& worker = job.workers[rank];
  if (done.died || done.sum_died) {  // its successor has other pushes, and is asked
    auto& again = leaving_.emplace_back();
    again.job = done.job;
    again.about = done.about;
    again.waiting = done.waiting;
    const auto at = job.sums.of_worker[rank];
    const bool missed = done.died
                            ? groups_of_[done.died->shard].serving_view() != done.died->view
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
  change_roster(now, job, rank, std::max(clock, worker.since), false, out);
  tell_left(done.job, rank, done.waiting, out);
}

void coordinator_core::tell_left(std::size_t index, std::uint32_t rank,
                                 std::vector<ticket> waiting, coordinator_effects& out) {
  const auto& job = jobs_[index];
  const auto group = make_group(index, 0);
  auto& of = groups_.at(group);
  of.about = leaving_told{rank};
  of.waiting = std::move(waiting);
  const roster_call message{job.token, job.changes.back()};
  if (!message.change.pushes_here) {
    auto mine = message;
    mine.change.pushes_here = true;
    of.later.push_back({{{job.sums.of_worker[rank], true}, mine}});
  }
  const bool planted = is_planted(planted_bug::who_left_forgotten_by_the_next_primary);
  for (const auto& recipient : upstream_of(no_aggregator))
    if (!planted || recipient == primary_of(recipient.index))
      call(group, recipient, message, out);
}

bool coordinator_core::shards_hear_of(std::size_t job, std::uint32_t rank) const {
  return std::any_of(groups_.begin(), groups_.end(), [&](const auto& entry) {
    const auto& of = entry.second;
    const auto* answer = std::get_if<leaving_told>(&of.about);
    return answer && answer->rank == rank && of.job == job && !of.later.empty();
  });
}

// Who has died hears of it, or its successor does, when that is set up.
void coordinator_core::left_told(std::int64_t now, const call_group& done,
                                 coordinator_effects& out) {
  auto& job = jobs_[done.job];
  job.workers[std::get<leaving_told>(done.about).rank].leaves = false;
  for (const auto requester : done.waiting) out.answers.push_back({requester, {}, {}});
  if (!done.failure.ok())
    return fail_job(now, job.spec.name, "a worker cannot leave: " + done.failure.message(),
                    out);
  maybe_ended(now, job, out);
}

}  // namespace tidegate::policies
