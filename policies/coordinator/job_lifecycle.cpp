#include "policies/coordinator/job_lifecycle.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "policies/coordinator/state.hpp"
#include "policies/model/clock_vector.hpp"
#include "policies/protocol/frame_epoch.hpp"
#include "runtime/base/limits.hpp"

namespace tidegate::policies::coordination {

using runtime::errc;
namespace limits = runtime::limits;

bool job_lifecycle::all_in() const {
  return std::all_of(state_.replicas.groups().begin(), state_.replicas.groups().end(),
                     [](const replica_chain& group) { return group.is_complete(); }) &&
         std::all_of(state_.jobs.begin(), state_.jobs.end(), [&](const job_record& job) {
           // Of one that has ended nobody comes back.
           if (job.has_ended()) return true;
           // Once all have begun, others take the places of those that die.
           return std::none_of(
               job.aggregators.begin(), job.aggregators.end(), [&](const auto& aggregator) {
                 return aggregator.address.empty() ||
                        (!begun_ && aggregator.at == aggregator_state::stage::away);
               });
         });
}

// Shards, and aggregators: what workers need before they can be let in.
// Shards know already what the process before has told them, and say so.
void job_lifecycle::all_joined(std::int64_t now, coordinator_effects& out) {
  begun_ = true;
  state_.replicas.pair_up(out);
  state_.mover.move_all_on(out);
  for (std::size_t index = 0; index < state_.jobs.size(); ++index) {
    const auto& job = state_.jobs[index];
    if (job.state == job_state::failed && state_.goes_on) close_below(job, out);
    if (!job.has_ended()) open_job(index, out);
    if (job.at_end) all_finished(now, index, out);
  }
  state_.changes.let_leave(out);
  state_.admissions.admit_early(out);
}

void job_lifecycle::begin_if_all_in(bool were_in, std::int64_t now, coordinator_effects& out) {
  if (!were_in && all_in()) all_joined(now, out);
}

// Calls to one process are carried out in this order; whoever is called knows its members
// before they hear of a table. Aggregators know what the process before has told them, or took
// the places of others meanwhile: those are set up.
void job_lifecycle::open_job(std::size_t index, coordinator_effects& out) {
  const auto& job = state_.jobs[index];
  const auto group = state_.calls.make_group(index, 0);
  auto opening = state_.job_call(job);
  for (std::uint32_t shard = 0; shard < state_.cluster.shards; ++shard)
    for (const auto& recipient : state_.replicas.members_of(shard)) {
      auto mine = opening;
      // No worker's frame is for a replica.
      mine.epoch = recipient == state_.replicas.primary_of(shard)
                       ? frame_epoch(state_.epoch, state_.replicas[shard].serving_view())
                       : 0;
      state_.calls.call(group, recipient, std::move(mine), out);
      for (const auto& change : job.changes)
        state_.calls.call(group, recipient, membership_call{job.token, change}, out);
      if (state_.goes_on)
        state_.calls.call(
            group, recipient,
            join_barrier_call{.token = job.token, .clock = clock_vector::infinity, .rank = 0},
            out);
    }
  if (!state_.goes_on) state_.aggregators.open(group, index, out);
  state_.tables.open_all(index, out);
  state_.aggregators.set_up(index, out);
}

// Nobody waits for the answers; who does not know the job has nothing to close.
void job_lifecycle::close_below(const job_record& job, coordinator_effects& out) {
  for (std::uint32_t shard = 0; shard < state_.cluster.shards; ++shard)
    for (const auto& recipient : state_.replicas.members_of(shard))
      out.calls.push_back(
          {shard, state_.calls.next_id(), close_job_call{job.token}, "", recipient.member});
  for (std::uint32_t at = 0; at < job.aggregators.size(); ++at)
    if (!job.aggregators[at].address.empty())
      out.calls.push_back(
          {at, state_.calls.next_id(), close_job_call{job.token}, job.spec.name, 0});
}

namespace {

// Workers tell sums, which begin anew with a process. What was before this coordinator, or
// before the first word of a worker, is not known to be of now.
void add_answers(job_record& job, std::span<const rank_arrivals> before,
                 std::span<const rank_arrivals> now) {
  if (before.empty()) return;
  if (job.answers.size() < now.size()) job.answers.resize(now.size());
  for (std::size_t shard = 0; shard < now.size(); ++shard) {
    auto from = shard < before.size() ? before[shard] : rank_arrivals();
    if (from.clocks > now[shard].clocks) from = {};
    add(job.answers[shard],
        {.clocks = now[shard].clocks - from.clocks,
         .last = now[shard].last - std::min(from.last, now[shard].last),
         .late_ns = now[shard].late_ns - std::min(from.late_ns, now[shard].late_ns)});
  }
}

}  // namespace

void job_lifecycle::progress(std::int64_t now, const std::string& name, std::uint32_t rank,
                             const worker_progress& report, coordinator_effects& out) {
  auto* job = state_.jobs.find(name);
  if (!job || rank >= job->workers.size() || job->workers[rank].finished) return;
  add_answers(*job, job->workers[rank].last.answers, report.answers);
  job->workers[rank].last = report;
  if (job->state == job_state::running && all_in())
    state_.checkpoints.advanced(now, *job, report.clock, out);
}

void job_lifecycle::arrivals(std::int64_t now, const std::string& reporter,
                             const shard_report& report) {
  for (const auto& from : report.closed)
    for (auto& job : state_.jobs)
      if (job.token == from.token) add_arrivals(job, now, reporter, from);
  for (std::uint32_t shard = 0; shard < state_.shards.size(); ++shard)
    add_times(shard, reporter, report.times);
}

// Of the processes of a chain.
void job_lifecycle::add_times(std::uint32_t shard, const std::string& reporter,
                              const shard_times& times) {
  const auto& chain = state_.replicas[shard];
  for (const auto& place : chain.chain()) {
    if (chain.address(place.member) != reporter) continue;
    const auto incarnation = chain.incarnation(place.member);
    auto reported = times;
    reported.process = std::uint64_t{place.member} << 32U | incarnation;
    if (place.member == chain.primary()) state_.shards[shard] = reported;
    if (place.member != chain.primary())
      state_.followers[{shard, place.member}] = {incarnation, reported};
  }
}

// Where gradients are summed on the way only aggregators see workers. What shards see then are
// aggregators, under the rank of one of theirs.
void job_lifecycle::add_arrivals(job_record& job, std::int64_t now, const std::string& reporter,
                                 const job_arrivals& from) {
  constexpr std::int64_t latest_ns = 1'500'000'000;
  auto at = no_aggregator;
  for (std::uint32_t each = 0; each < job.aggregators.size(); ++each)
    if (job.aggregators[each].address == reporter) at = each;
  const auto sees = [&](std::size_t rank) {
    return rank < job.workers.size() &&
           (job.aggregators.empty() || (at != no_aggregator && job.sums.of_worker[rank] == at));
  };
  for (std::size_t rank = 0; rank < from.ranks.size(); ++rank)
    if (sees(rank)) add(job.workers[rank].arrivals, from.ranks[rank]);
  for (std::uint32_t shard = 0; shard < state_.shards.size() && job.aggregators.empty();
       ++shard)
    if (state_.replicas[shard].primary_address() == reporter) job.late.tell(shard, from);
  if (!sees(from.latest.rank)) return;
  if (from.latest.late_ns < job.latest.late_ns && now < job.latest_at + latest_ns) return;
  job.latest = from.latest;
  job.latest_at = now;
}

runtime::status job_lifecycle::metric(const std::string& name, const std::string& metric,
                                      double value, coordinator_effects& out) {
  auto* job = state_.jobs.find(name);
  if (!job) return {errc::not_found, "no job '" + name + "'"};
  if (metric.empty() || metric.size() > limits::name_bytes_max)
    return {errc::invalid_argument, "a metric name of 1 to 128 bytes is needed"};
  if (job->metrics.size() >= limits::metrics_max && !job->metrics.contains(metric))
    return {errc::over_limit, "job " + name + " has its limit of metrics"};
  job->metrics[metric] = value;
  out.records.emplace_back(recorded_metric{.job = name, .name = metric, .value = value});
  return {};
}

void job_lifecycle::worker_finished(std::int64_t now, const std::string& name,
                                    std::uint32_t rank, const worker_progress& last,
                                    const std::string& parameters_sha256,
                                    coordinator_effects& out) {
  auto* job = state_.jobs.find(name);
  if (!job || rank >= job->workers.size() || job->state == job_state::failed) return;
  if (job->workers[rank].finished) return;  // it has not heard that this is known
  job->workers[rank].finished = true;
  job->workers[rank].last = last;
  if (!parameters_sha256.empty()) job->parameters_sha256 = parameters_sha256;
  record(*job, rank, out);
  record(*job, out);
  state_.events.add(now, "worker_finished", name + " rank " + std::to_string(rank),
                    {.job = name, .rank = rank, .clock = last.clock});
  state_.aggregators.tell_finished(*job, rank, out);
  maybe_ended(now, *job, out);
}

void job_lifecycle::maybe_ended(std::int64_t now, job_record& job, coordinator_effects& out) {
  const bool all = std::all_of(job.workers.begin(), job.workers.end(),
                               [](const worker_state& worker) { return worker.finished; });
  if (all) job.at_end = true;
  // The last checkpoint needs every shard; without one of them all_joined() sees to it.
  if (all && (!job.rounds || all_in())) all_finished(now, state_.jobs.index_of(job), out);
}

void job_lifecycle::all_finished(std::int64_t now, std::size_t index,
                                 coordinator_effects& out) {
  auto& job = state_.jobs[index];
  if (job.rounds)
    state_.checkpoints.finished(now, job, out);
  else
    done(now, job, out);
}

void job_lifecycle::done(std::int64_t now, job_record& job, coordinator_effects& out) {
  if (job.has_ended()) return;
  const bool were_in = all_in();
  job.state = job_state::done;
  job.ended = now;
  record(job, out);
  state_.events.add(now, "job_done", job.spec.name + " " + job.parameters_sha256,
                    {.job = job.spec.name});
  state_.admissions.refuse_absent(job, "job " + job.spec.name + " has ended", out);
  begin_if_all_in(were_in, now, out);
}

void job_lifecycle::fail_job(std::int64_t now, const std::string& name, const std::string& why,
                             coordinator_effects& out) {
  auto* job = state_.jobs.find(name);
  if (!job || job->has_ended()) return;
  const bool were_in = all_in();
  job->state = job_state::failed;
  job->failure = why;
  job->ended = now;
  if (job->began == 0) job->began = now;
  record(*job, out);
  state_.events.add(now, "job_failed", name + ": " + why, {.job = name, .cause = why});
  close_below(*job, out);
  // In this order: answers are effects.
  const auto index = state_.jobs.index_of(*job);
  const auto reason = "job " + name + " failed: " + why;
  state_.calls.cancel(index, reason, out);
  state_.admissions.cancel_late(index, reason, out);
  state_.changes.cancel(index, reason, out);
  state_.admissions.cancel_early(name, reason, out);
  begin_if_all_in(were_in, now, out);
}

bool job_lifecycle::is_to_hash(const std::string& name, std::uint32_t rank) const {
  const auto* job = state_.jobs.find(name);
  if (!job || rank >= job->workers.size()) return false;
  const auto first = std::find_if(
      job->workers.begin(), job->workers.end(),
      [](const worker_state& worker) { return !worker.finished && !worker.leaves; });
  return first - job->workers.begin() == rank && job->parameters_sha256.empty();
}

void job_lifecycle::worker_lost(std::int64_t now, const std::string& name, std::uint32_t rank,
                                const std::string& why) {
  auto* job = state_.jobs.find(name);
  if (!job || rank >= job->workers.size() || job->workers[rank].finished) return;
  if (job->state == job_state::failed) return;
  job->workers[rank].away = true;
  state_.events.add(now, "worker_lost", name + " rank " + std::to_string(rank) + ": " + why,
                    {.job = name, .rank = rank, .cause = why});
}

}  // namespace tidegate::policies::coordination
