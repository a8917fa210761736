// How coordinator_core sets up an aggregator that takes the place of another, or that has come
// to the next coordinator and may be such a one: whoever it pushes to hears of it and says
// which clocks of its sums it has (first_clocks), it is told of its job, its tables and where
// it goes on, and then its members are told. Told twice nothing changes.
#include <algorithm>
#include <utility>
#include <variant>

#include "policies/coordinator/core.hpp"
#include "policies/protocol/frame_epoch.hpp"

namespace tidegate::policies {

bool coordinator_core::all_ready(const job_record& job) {
  return std::all_of(
      job.aggregators.begin(), job.aggregators.end(),
      [](const auto& aggregator) { return aggregator.at == aggregator_state::stage::ready; });
}

// Those whose upstream can tell.
void coordinator_core::set_up_aggregators(std::size_t index, coordinator_effects& out) {
  using stage = aggregator_state::stage;
  auto& job = jobs_[index];
  if (!all_in() || !moving_.empty()) return;
  if (job.state == job_state::failed || job.state == job_state::done) return;
  for (std::uint32_t at = 0; at < job.aggregators.size(); ++at) {
    const auto parent = job.sums.aggregators[at].parent;
    const bool may = parent == no_aggregator || job.aggregators[parent].at == stage::ready;
    if (may && job.aggregators[at].at == stage::waiting) make_known_upstream(index, at, out);
  }
}

// A call that is repeated over a new connection may come after the one that lets in the
// successor, and is refused then.
bool coordinator_core::is_replaced(const job_record& job, const shard_call& content) {
  const auto* admission = std::get_if<admit_worker_call>(&content);
  if (admission == nullptr) return false;
  const auto lives_there = [&](const auto& member) {
    return member.address == admission->address;
  };
  return std::none_of(job.aggregators.begin(), job.aggregators.end(), lives_there) &&
         std::none_of(job.workers.begin(), job.workers.end(), lives_there);
}

// From then on frames of the one before are refused there, so that what is told stays true.
void coordinator_core::make_known_upstream(std::size_t index, std::uint32_t at,
                                           coordinator_effects& out) {
  auto& job = jobs_[index];
  auto& aggregator = job.aggregators[at];
  aggregator.at = aggregator_state::stage::setting_up;
  aggregator.took_over = true;
  const auto& place = job.sums.aggregators[at];
  sum_progress_call asked{job.token, {}};
  for (const auto& node : place.nodes) asked.ranks.push_back(node.first);
  const auto group = make_group(index, 0);
  groups_.at(group).about = aggregator_set_up{at, aggregator.incarnation, true};
  for (const auto& above : upstream_of(place.parent)) {
    admit_nodes(group, above, at, out);
    if (above.aggregator || above == primary_of(above.index)) call(group, above, asked, out);
  }
}

void coordinator_core::aggregator_told(std::int64_t now, const call_group& done,
                                       const aggregator_set_up& set_up,
                                       coordinator_effects& out) {
  using stage = aggregator_state::stage;
  auto& job = jobs_[done.job];
  auto& aggregator = job.aggregators[set_up.index];
  // It is gone, and so perhaps is the one after it.
  if (aggregator.incarnation != set_up.incarnation || aggregator.at != stage::setting_up)
    return;
  // Who was to say may have died, or whom it was to push to: it begins anew when that one is
  // missed and another in its place.
  if (!moving_.empty() || done.died || done.sum_died) {
    aggregator.at = stage::waiting;
    const auto& died = done.died;
    if (died && groups_of_[died->shard].serving_view() != died->view)
      set_up_aggregators(done.job, out);
    return;
  }
  if (!done.failure.ok())
    return fail_job(now, job.spec.name,
                    "aggregator " + std::to_string(set_up.index) +
                        " cannot be set up: " + done.failure.message(),
                    out);
  if (set_up.asks_upstream) return tell_aggregator(done, set_up.index, out);
  aggregator.at = stage::ready;
  event(now, "aggregator_set_up",
        job.spec.name + " aggregator " + std::to_string(set_up.index));
  tell_members(job, set_up.index, out);
  set_up_aggregators(done.job, out);
  let_leave(out);
  admit_late(out);
  admit_early(out);
}

void coordinator_core::tell_aggregator(const call_group& known, std::uint32_t at,
                                       coordinator_effects& out) {
  const auto& job = jobs_[known.job];
  const auto group = make_group(known.job, 0);
  groups_.at(group).about = aggregator_set_up{at, job.aggregators[at].incarnation, false};
  const callee recipient{at, true};
  call(group, recipient, call_of(job, at), out);
  for (const auto& table : tables_) {
    if (table.job != known.job) continue;
    auto mine = call_of(table);
    mine.places = table.grant.places;
    for (auto& place : mine.places) {
      // One that is being made is not known everywhere yet.
      const auto first = known.clocks.find({table.grant.table, place.chunk});
      mine.first_clocks.push_back(first == known.clocks.end() ? 0 : first->second);
      if (job.sums.aggregators[at].parent != no_aggregator) place.shard = 0;
    }
    call(group, recipient, std::move(mine), out);
  }
  admit_members(group, at, out);
}

void coordinator_core::admit_members(group_id group, std::uint32_t at,
                                     coordinator_effects& out) {
  const auto& job = jobs_[groups_.at(group).job];
  for (std::uint32_t below = 0; below < job.aggregators.size(); ++below)
    if (job.sums.aggregators[below].parent == at) admit_nodes(group, {at, true}, below, out);
  for (std::uint32_t rank = 0; rank < job.workers.size(); ++rank) {
    const auto& worker = job.workers[rank];
    if (job.sums.of_worker[rank] != at) continue;
    // Where shards have yet to hear that it has left, the aggregator hears after them.
    const bool still_here = worker.absent && shards_hear_of(groups_.at(group).job, rank);
    if (worker.absent && !still_here)  // and may never have been here
      call(group, {at, true},
           roster_call{job.token, {0, rank, worker.left.value_or(0), false, true}}, out);
    if (worker.incarnation == 0) continue;
    call(group, {at, true},
         admit_worker_call{job.token, rank, worker.incarnation, worker.address,
                           tables_of(job, rank), worker.finished && !still_here},
         out);
  }
}

// One that is being let in hears of it with its welcome.
void coordinator_core::tell_members(const job_record& job, std::uint32_t at,
                                    coordinator_effects& out) const {
  const auto& aggregator = job.aggregators[at];
  const shard_moved moved{0, epoch_of(aggregator), aggregator.address};
  for (std::uint32_t below = 0; below < job.aggregators.size(); ++below)
    if (job.sums.aggregators[below].parent == at)
      out.moves.push_back({job.spec.name, below, true, moved});
  for (std::uint32_t rank = 0; rank < job.workers.size(); ++rank)
    if (job.workers[rank].joined && job.sums.of_worker[rank] == at)
      out.moves.push_back({job.spec.name, rank, false, moved});
}

// It said farewell to an aggregator that may have died since, and may be gone before it hears
// of another.
void coordinator_core::tell_finished(const job_record& job, std::uint32_t rank,
                                     coordinator_effects& out) {
  using stage = aggregator_state::stage;
  const auto at = job.sums.of_worker[rank];
  if (at == no_aggregator) return;
  const auto& aggregator = job.aggregators[at];
  const auto& worker = job.workers[rank];
  if (!aggregator.took_over ||
      (aggregator.at != stage::setting_up && aggregator.at != stage::ready))
    return;
  out.calls.push_back({at, ++last_id_,
                       admit_worker_call{job.token, rank, worker.incarnation, worker.address,
                                         tables_of(job, rank), true},
                       job.spec.name, 0});
}

}  // namespace tidegate::policies
