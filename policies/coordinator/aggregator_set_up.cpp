#include <algorithm>
#include <utility>

#include "policies/coordinator/aggregator_recovery.hpp"
#include "policies/coordinator/state.hpp"

namespace tidegate::policies::coordination {

bool aggregator_recovery::all_ready(const job_record& job) {
  return std::all_of(
      job.aggregators.begin(), job.aggregators.end(),
      [](const auto& aggregator) { return aggregator.at == aggregator_state::stage::ready; });
}

// Those whose upstream can tell.
void aggregator_recovery::set_up(std::size_t index, coordinator_effects& out) {
  using stage = aggregator_state::stage;
  auto& job = state_.jobs[index];
  if (!state_.lifecycle.all_in() || state_.replicas.is_promoting()) return;
  if (job.has_ended()) return;
  for (std::uint32_t at = 0; at < job.aggregators.size(); ++at) {
    const auto parent = job.sums.aggregators[at].parent;
    const bool may = parent == no_aggregator || job.aggregators[parent].at == stage::ready;
    if (may && job.aggregators[at].at == stage::waiting) make_known_upstream(index, at, out);
  }
}

// A call that is repeated over a new connection may come after the one that lets in the
// successor, and is refused then.
bool aggregator_recovery::is_replaced(const job_record& job, const shard_call& content) {
  const auto* admission = std::get_if<admit_worker_call>(&content);
  if (admission == nullptr) return false;
  const auto lives_there = [&](const auto& member) {
    return member.address == admission->address;
  };
  return std::none_of(job.aggregators.begin(), job.aggregators.end(), lives_there) &&
         std::none_of(job.workers.begin(), job.workers.end(), lives_there);
}

// From then on frames of the one before are refused there, so that what is told stays true.
void aggregator_recovery::make_known_upstream(std::size_t index, std::uint32_t at,
                                              coordinator_effects& out) {
  auto& job = state_.jobs[index];
  auto& aggregator = job.aggregators[at];
  aggregator.at = aggregator_state::stage::setting_up;
  aggregator.took_over = true;
  const auto& place = job.sums.aggregators[at];
  sum_progress_call asked{job.token, {}};
  for (const auto& node : place.nodes) asked.ranks.push_back(node.first);
  const auto group = state_.calls.make_group(index, 0);
  state_.calls.group(group).about = aggregator_set_up{
      .index = at, .incarnation = aggregator.incarnation, .asks_upstream = true};
  for (const auto& above : upstream_of(place.parent)) {
    admit_nodes(group, above, at, out);
    if (above.aggregator || above == state_.replicas.primary_of(above.index))
      state_.calls.call(group, above, asked, out);
  }
}

void aggregator_recovery::told(std::int64_t now, const call_group& done,
                               const aggregator_set_up& step, coordinator_effects& out) {
  using stage = aggregator_state::stage;
  auto& job = state_.jobs[done.job];
  auto& aggregator = job.aggregators[step.index];
  // It is gone, and so perhaps is the one after it.
  if (aggregator.incarnation != step.incarnation || aggregator.at != stage::setting_up) return;
  // Who was to say may have died, or whom it was to push to: it begins anew when that one is
  // missed and another in its place.
  if (state_.replicas.is_promoting() || done.died || done.sum_died) {
    aggregator.at = stage::waiting;
    const auto& died = done.died;
    if (died && state_.replicas[died->shard].serving_view() != died->view)
      set_up(done.job, out);
    return;
  }
  if (!done.failure.ok())
    return state_.lifecycle.fail_job(now, job.spec.name,
                                     "aggregator " + std::to_string(step.index) +
                                         " cannot be set up: " + done.failure.message(),
                                     out);
  if (step.asks_upstream) return tell(done, step.index, out);
  aggregator.at = stage::ready;
  state_.events.add(
      now, "aggregator_set_up", job.spec.name + " aggregator " + std::to_string(step.index),
      fields_of({.role = process_role::aggregator, .job = job.spec.name, .index = step.index}));
  tell_members(job, step.index, out);
  set_up(done.job, out);
  state_.let_go_on(out);
}

void aggregator_recovery::tell(const call_group& known, std::uint32_t at,
                               coordinator_effects& out) {
  const auto& job = state_.jobs[known.job];
  const auto group = state_.calls.make_group(known.job, 0);
  state_.calls.group(group).about = aggregator_set_up{
      .index = at, .incarnation = job.aggregators[at].incarnation, .asks_upstream = false};
  const callee recipient{at, true};
  state_.calls.call(group, recipient, call_of(job, at), out);
  for (const auto& table : state_.tables) {
    if (table.job != known.job) continue;
    auto mine = state_.tables.call_of(table);
    mine.places = table.grant.places;
    for (auto& place : mine.places) {
      // One that is being made is not known everywhere yet.
      const auto first = known.clocks.find({table.grant.table, place.chunk});
      mine.first_clocks.push_back(first == known.clocks.end() ? 0 : first->second);
      if (job.sums.aggregators[at].parent != no_aggregator) place.shard = 0;
    }
    state_.calls.call(group, recipient, std::move(mine), out);
  }
  admit_members(group, at, out);
}

void aggregator_recovery::admit_members(group_id group, std::uint32_t at,
                                        coordinator_effects& out) {
  const auto& job = state_.jobs[state_.calls.group(group).job];
  for (std::uint32_t below = 0; below < job.aggregators.size(); ++below)
    if (job.sums.aggregators[below].parent == at) admit_nodes(group, {at, true}, below, out);
  for (std::uint32_t rank = 0; rank < job.workers.size(); ++rank) {
    const auto& worker = job.workers[rank];
    if (job.sums.of_worker[rank] != at) continue;
    // Where shards have yet to hear that it has left, the aggregator hears after them.
    const bool still_here =
        worker.absent && state_.changes.shards_hear_of(state_.calls.group(group).job, rank);
    if (worker.absent && !still_here)  // and may never have been here
      state_.calls.call(group, {at, true},
                        membership_call{job.token,
                                        {.number = 0,
                                         .rank = rank,
                                         .clock = worker.left.value_or(0),
                                         .joins = false,
                                         .pushes_here = true}},
                        out);
    if (worker.incarnation == 0) continue;
    state_.calls.call(group, {at, true},
                      admit_worker_call{.token = job.token,
                                        .rank = rank,
                                        .incarnation = worker.incarnation,
                                        .address = worker.address,
                                        .tables = state_.tables.tables_of(job, rank),
                                        .finished = worker.finished && !still_here},
                      out);
  }
}

// One that is being let in hears of it with its welcome.
void aggregator_recovery::tell_members(const job_record& job, std::uint32_t at,
                                       coordinator_effects& out) const {
  const auto& aggregator = job.aggregators[at];
  const shard_moved moved{
      .shard = 0, .epoch = epoch_of(aggregator), .address = aggregator.address};
  for (std::uint32_t below = 0; below < job.aggregators.size(); ++below)
    if (job.sums.aggregators[below].parent == at)
      out.moves.push_back({job.spec.name, below, true, moved});
  for (std::uint32_t rank = 0; rank < job.workers.size(); ++rank)
    if (job.workers[rank].joined && job.sums.of_worker[rank] == at)
      out.moves.push_back({job.spec.name, rank, false, moved});
}

// It said farewell to an aggregator that may have died since, and may be gone before it hears
// of another.
void aggregator_recovery::tell_finished(const job_record& job, std::uint32_t rank,
                                        coordinator_effects& out) {
  using stage = aggregator_state::stage;
  const auto at = job.sums.of_worker[rank];
  if (at == no_aggregator) return;
  const auto& aggregator = job.aggregators[at];
  const auto& worker = job.workers[rank];
  if (!aggregator.took_over ||
      (aggregator.at != stage::setting_up && aggregator.at != stage::ready))
    return;
  out.calls.push_back({at, state_.calls.next_id(),
                       admit_worker_call{.token = job.token,
                                         .rank = rank,
                                         .incarnation = worker.incarnation,
                                         .address = worker.address,
                                         .tables = state_.tables.tables_of(job, rank),
                                         .finished = true},
                       job.spec.name, 0});
}

}  // namespace tidegate::policies::coordination
