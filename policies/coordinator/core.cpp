#include "policies/coordinator/core.hpp"

#include <algorithm>
#include <utility>

#include "policies/consistency/consistency.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/base/rng.hpp"

namespace tidegate::policies {

using runtime::errc;
namespace limits = runtime::limits;

coordinator_core::coordinator_core(cluster_spec cluster, std::uint64_t token,
                                   restored_cluster from, recorded_cluster before,
                                   std::uint32_t life)
    : cluster_(std::move(cluster)),
      epoch_(from.epoch),
      life_(life),
      goes_on_(before.run.has_value()),
      placement_(cluster_.shards, cluster_.chunk_bytes),
      groups_of_(cluster_.shards, shard_group(cluster_.replicas)),
      judge_(cluster_.supervision.unreachable_ms * millisecond) {
  if (cluster_.slots > 0) {
    slots_ = shard_slots(cluster_.shards, cluster_.replicas, cluster_.slots);
    for (std::uint32_t shard = 0; shard < cluster_.shards; ++shard)
      groups_of_[shard] = shard_group(slots_.members(), slots_.wanted_of(shard));
  }
  if (goes_on_)
    from = before.run->from;
  else
    to_record_ = recorded_run{from};
  for (const auto& spec : cluster_.jobs) {
    auto& job = jobs_.emplace_back();
    job.spec = spec;
    job.token = runtime::stream_key(token, spec.name);
    job.workers.resize(spec.capacity());
    job.wanted = spec.workers;
    for (auto rank = spec.workers; rank < spec.capacity(); ++rank)
      job.workers[rank].absent = job.workers[rank].finished = true;
    job.sums = plan_aggregation(cluster_, spec);
    job.sums.of_worker.resize(spec.capacity(), no_aggregator);
    job.aggregators.resize(job.sums.aggregators.size());
    if (spec.checkpoint) job.rounds.emplace(*spec.checkpoint);
    if (const auto at = from.jobs.find(spec.name); at != from.jobs.end())
      job.restored = std::move(at->second);
  }
  go_on(before);
}

void coordinator_core::event(std::int64_t now, std::string subject, std::string detail) {
  // The last places are for how jobs end.
  constexpr std::size_t reserve = 1024;
  const bool matters = subject.starts_with("job_") || subject == "process_condemned";
  if (events_.size() < limits::events_max - (matters ? 0 : reserve))
    events_.push_back({now, std::move(subject), std::move(detail)});
}

void coordinator_core::refuse(ticket requester, errc code, std::string why,
                              coordinator_effects& out) {
  out.answers.push_back({requester, runtime::status(code, std::move(why)), {}});
}

coordinator_core::job_record* coordinator_core::find(const std::string& name) {
  return const_cast<job_record*>(std::as_const(*this).find(name));
}

const coordinator_core::job_record* coordinator_core::find(const std::string& name) const {
  const auto at = std::find_if(jobs_.begin(), jobs_.end(),
                               [&](const job_record& job) { return job.spec.name == name; });
  return at == jobs_.end() ? nullptr : &*at;
}

bool coordinator_core::shard_joined(std::int64_t now, std::uint32_t index, std::string address,
                                    ticket requester, coordinator_effects& out,
                                    group_member member) {
  if (index >= cluster_.shards || member.number >= groups_of_[index].size()) {
    refuse(requester, errc::invalid_argument,
           "shard " + std::to_string(index) + " joins a cluster of " +
               std::to_string(cluster_.shards) + " shards",
           out);
    return false;
  }
  auto& group = groups_of_[index];
  if (!address.empty() && member.incarnation == group.incarnation(member.number) &&
      group.address(member.number) == address) {
    out.answers.push_back({requester, {}, {}});  // it has not heard that it is in
    repeat_calls(now, no_job, {index, false, member.number}, out);
    if (retiring_.contains({index, member.number}))
      out.retirements.push_back({index, member.number});
    return true;
  }
  // The word of one that has died since may be late.
  const bool returns =
      group.is_awaited(member.number) && member.incarnation == group.incarnation(member.number);
  if (address.empty() || (member.incarnation <= group.incarnation(member.number) && !returns)) {
    refuse(requester, errc::already_exists,
           "shard " + std::to_string(index) + " is there already", out);
    return false;
  }
  const bool were_in = all_in();
  if (group.was_here(member.number) && !returns)
    member_left(now, {index, false, member.number}, "another process has taken its place", out);
  const auto change = group.joined(member.number, member.incarnation, std::move(address));
  event(now, "shard_joined",
        name_of({index, false, member.number}) +
            (change == shard_group::change::rejoined ? ", as the replica" : ""));
  out.answers.push_back({requester, {}, {}});
  if (change == shard_group::change::complete) record_group(index, out);
  if (!were_in && all_in()) all_joined(now, out);
  if (were_in) welcome_replica(index, out);
  move_on(index, out);
  return true;
}

runtime::status coordinator_core::check_worker(const worker_hello& hello) {
  auto* job = find(hello.job);
  if (!job) return {errc::not_found, "no job '" + hello.job + "' in this cluster"};
  const auto name = "rank " + std::to_string(hello.rank) + " of job " + hello.job;
  if (hello.rank >= job->workers.size())
    return {errc::invalid_argument,
            name + " joins a job of " + std::to_string(job->wanted) + " workers"};
  if (job->state == job_state::failed || job->state == job_state::done)
    return {errc::refused, "job " + hello.job + " has ended"};
  const auto& known = job->workers[hello.rank];
  if (known.absent && !known.invited)
    return {
        errc::refused,
        name + (known.left
                    ? " has left: the others go on since clock " + std::to_string(*known.left)
                    : " joins a job of " + std::to_string(job->wanted) + " workers")};
  // One that has not heard that it is in asks again, perhaps another coordinator than before.
  const bool again = hello.incarnation == known.incarnation && hello.incarnation > 0 &&
                     known.address == hello.address;
  if (hello.incarnation <= known.incarnation && !again)
    return {errc::already_exists, name + " is there already"};
  if (hello.address.empty())
    return {errc::invalid_argument, name + " gives no address for frames"};
  return {};
}

bool coordinator_core::worker_joined(std::int64_t now, const worker_hello& hello,
                                     ticket requester, coordinator_effects& out) {
  if (auto checked = check_worker(hello); !checked.ok()) {
    out.answers.push_back({requester, std::move(checked), {}});
    return false;
  }
  auto& job = *find(hello.job);
  auto& worker = job.workers[hello.rank];
  if (worker.incarnation > 0 && hello.incarnation > worker.incarnation) {
    ++job.restarts;
    record(job, out);
    worker.staleness_max = std::max(worker.staleness_max, worker.last.staleness_max);
    worker.payload_bytes_copied += worker.last.payload_bytes_copied;
    worker.last.staleness_max = worker.last.payload_bytes_copied = 0;
  }
  worker.incarnation = hello.incarnation;
  worker.address = hello.address;
  worker.away = false;
  record(job, hello.rank, out);
  event(now, "worker_joined",
        hello.job + " rank " + std::to_string(hello.rank) +
            (hello.incarnation > 1 ? " incarnation " + std::to_string(hello.incarnation) : ""));
  // One that has died while it waited is not admitted any more.
  std::erase_if(early_workers_, [&](const auto& early) {
    const bool same = early.first.job == hello.job && early.first.rank == hello.rank;
    if (same) refuse(early.second, errc::cancelled, "another process has taken its rank", out);
    return same;
  });
  early_workers_.emplace_back(hello, requester);
  admit_early(out);
  return true;
}

coordinator_core::group_id coordinator_core::make_group(std::size_t job, ticket requester) {
  const auto id = ++last_id_;
  auto& group = groups_[id];
  group.job = job;
  if (requester != 0) group.waiting.push_back(requester);
  return id;
}

void coordinator_core::call(group_id group, callee recipient, shard_call call,
                            coordinator_effects& out) {
  const auto id = ++last_id_;
  const bool replica =
      !recipient.aggregator && groups_of_[recipient.index].primary() != recipient.member;
  auto& of = groups_.at(group);
  const bool sets_up = std::holds_alternative<aggregator_set_up>(of.about);
  const auto* sum =
      recipient.aggregator ? &jobs_[of.job].aggregators[recipient.index] : nullptr;
  // One that is not ready is told of all that there is when it is set up.
  const bool may_fail = (sum && !sets_up && sum->at != aggregator_state::stage::ready) ||
                        ((std::holds_alternative<new_replica>(of.about) || sets_up) &&
                         std::holds_alternative<admit_worker_call>(call));
  calls_[id] = {group,
                recipient,
                !replica,
                may_fail,
                recipient.aggregator ? 0 : groups_of_[recipient.index].serving_view(),
                sum ? sum->incarnation : 0,
                call};
  ++of.remaining;
  out.calls.push_back({recipient.index, id, std::move(call),
                       recipient.aggregator ? jobs_[of.job].spec.name : "", recipient.member});
}

void coordinator_core::call_done(std::int64_t now, call_id call, const runtime::status& result,
                                 coordinator_effects& out, std::uint64_t answer,
                                 std::span<const chunk_clock> clocks) {
  if (const auto part = asked_.find(call); part != asked_.end()) {
    const auto asked = part->second;
    asked_.erase(part);
    checkpoint_effects effects;
    if (auto& rounds = jobs_[asked.job].rounds)
      rounds->answered(asked.shard, asked.id, result, answer, effects);
    return carry_out(now, asked.job, effects, out);
  }
  const auto at = calls_.find(call);
  if (at == calls_.end()) return;
  const auto group = groups_.find(at->second.group);
  const auto pending_call = std::move(at->second);
  calls_.erase(at);
  if (group == groups_.end()) return;  // its job failed meanwhile
  auto& of = group->second;
  // It has died, of which we shall hear; whoever takes its place has been called, too.
  const bool died = cluster_.has_chains() && !pending_call.recipient.aggregator &&
                    of.job != no_job && result.code() == errc::unavailable;
  if (died && pending_call.primary) of.died = {pending_call.recipient.index, pending_call.view};
  // What it was to hear of its successor hears when it is set up.
  const bool sum_died = pending_call.recipient.aggregator && of.job != no_job && !result.ok() &&
                        (result.code() == errc::unavailable ||
                         jobs_[of.job].aggregators[pending_call.recipient.index].incarnation !=
                             pending_call.incarnation);
  if (sum_died && !pending_call.may_fail) of.sum_died = pending_call.incarnation;
  const bool replaced = of.job != no_job && is_replaced(jobs_[of.job], pending_call.content);
  if (!result.ok() && !died && !sum_died && !replaced && !pending_call.may_fail &&
      of.failure.ok())
    of.failure = result;
  if (result.ok() && pending_call.primary) {
    of.first_clock = std::min(of.first_clock, answer);
    of.last_clock = std::max(of.last_clock, answer);
  }
  for (const auto& clock : clocks) {
    const auto at_chunk = of.clocks.try_emplace({clock.table, clock.chunk}, clock.clock).first;
    at_chunk->second = std::min(at_chunk->second, clock.clock);
  }
  if (--group->second.remaining > 0) return;
  // Who was to lead may be another process by now.
  if (const auto* replica = std::get_if<new_replica>(&group->second.about);
      replica && !groups_of_[replica->shard].is_pair(replica->view))
    group->second.later.clear();
  if (group->second.failure.ok() && !group->second.later.empty()) {
    const auto next = std::move(group->second.later.back());
    group->second.later.pop_back();
    for (const auto& staged : next)
      this->call(group->first, staged.recipient, staged.call, out);
    if (!next.empty()) return;
  }
  auto done = std::move(group->second);
  groups_.erase(group);
  close(now, done, out);
}

void coordinator_core::close(std::int64_t now, call_group& done, coordinator_effects& out) {
  if (const auto* hello = std::get_if<worker_hello>(&done.about))
    return admitted(now, done, *hello, out);
  if (const auto* set_up = std::get_if<aggregator_set_up>(&done.about))
    return aggregator_told(now, done, *set_up, out);
  if (const auto* leave = std::get_if<leaving>(&done.about))
    return shut_out(now, done, leave->rank, out);
  if (std::holds_alternative<leaving_told>(done.about)) return left_told(now, done, out);
  if (std::holds_alternative<joining>(done.about)) return held(now, done, out);
  if (std::holds_alternative<joining_told>(done.about)) return joined(done, out);
  if (const auto* entry = std::get_if<promotion>(&done.about))
    return promoted(now, *entry, done.failure, out);
  if (std::holds_alternative<new_replica>(done.about)) return linked(now, done, out);
  auto& job = jobs_[done.job];
  if (!done.failure.ok()) {
    for (auto requester : done.waiting) out.answers.push_back({requester, done.failure, {}});
    return fail_job(now, job.spec.name, "a shard refused: " + done.failure.message(), out);
  }
  if (const auto* table = std::get_if<std::uint32_t>(&done.about)) {
    auto& opened = tables_[*table];
    opened.ready = true;
    event(now, "table_open",
          job.spec.name + " " + opened.spec.name + ": " +
              std::to_string(opened.grant.elements) + " elements in " +
              std::to_string(opened.grant.places.size()) + " chunks");
    for (auto requester : done.waiting) out.answers.push_back({requester, {}, opened.grant});
    let_leave(out);
    admit_early(out);
  }
}

void coordinator_core::progress(std::int64_t now, const std::string& name, std::uint32_t rank,
                                const worker_progress& report, coordinator_effects& out) {
  auto* job = find(name);
  if (!job || rank >= job->workers.size() || job->workers[rank].finished) return;
  job->workers[rank].last = report;
  if (!job->rounds || job->state != job_state::running || !all_in()) return;
  if (!job->rounds->advanced(now, report.clock)) return;
  checkpoint_effects effects;
  const auto index = static_cast<std::size_t>(job - jobs_.data());
  job->rounds->begin(now, holders_of(index), effects);
  carry_out(now, index, effects, out);
}

void coordinator_core::tables_opened(std::int64_t now, const std::string& name,
                                     std::uint32_t rank, std::vector<std::uint32_t> tables,
                                     coordinator_effects& out) {
  auto* job = find(name);
  if (!job || rank >= job->workers.size()) return;
  std::sort(tables.begin(), tables.end());
  job->workers[rank].tables = tables;
  record(*job, rank, out);
  if (job->spec.consistency.kind == consistency_kind::async)
    return;  // nobody waits for anybody
  if (!job->tables_opened) {
    job->tables_opened = {rank, std::move(tables)};
    return;
  }
  const auto& [first, theirs] = *job->tables_opened;
  if (theirs == tables) return;
  std::vector<std::uint32_t> differ;
  std::set_symmetric_difference(theirs.begin(), theirs.end(), tables.begin(), tables.end(),
                                std::back_inserter(differ));
  const auto odd = differ.front();
  const bool mine = std::binary_search(tables.begin(), tables.end(), odd);
  const auto member = [](std::uint32_t worker) { return "worker " + std::to_string(worker); };
  fail_job(
      now, name,
      member(mine ? rank : first) + " opened table '" +
          (odd < tables_.size() ? tables_[odd].spec.name : "?") + "' and " +
          member(mine ? first : rank) + " did not: under " + to_string(job->spec.consistency) +
          " a table waits for every worker, so all open the same tables before their first "
          "clock()",
      out);
}

runtime::status coordinator_core::metric(const std::string& name, const std::string& metric,
                                         double value, coordinator_effects& out) {
  auto* job = find(name);
  if (!job) return {errc::not_found, "no job '" + name + "'"};
  if (metric.empty() || metric.size() > limits::name_bytes_max)
    return {errc::invalid_argument, "a metric name of 1 to 128 bytes is needed"};
  if (job->metrics.size() >= limits::metrics_max && !job->metrics.contains(metric))
    return {errc::over_limit, "job " + name + " has its limit of metrics"};
  job->metrics[metric] = value;
  out.records.emplace_back(recorded_metric{name, metric, value});
  return {};
}

bool coordinator_core::shard_lost(std::int64_t now, std::uint32_t index, const std::string& why,
                                  coordinator_effects& out, std::uint32_t member) {
  // Its process has said so. What was asked of it since, over a connection that was about to
  // end, nobody answers.
  if (slots_.shards() > 0 && !groups_of_[index].was_here(member)) {
    answer_for_the_dead(now, no_job, {index, false, member}, out);
    return true;
  }
  if (retiring_.contains({index, member}))
    event(now, "shard_left", name_of({index, false, member}));
  else
    event(now, is_first(index, member) ? "shard_lost" : "replica_lost",
          name_of({index, false, member}) + ": " + why);
  if (!cluster_.has_chains()) return false;
  hosted_.erase({index, member});
  retiring_.erase({index, member});
  member_left(now, {index, false, member}, why, out);
  return true;
}

void coordinator_core::worker_lost(std::int64_t now, const std::string& name,
                                   std::uint32_t rank, const std::string& why) {
  auto* job = find(name);
  if (!job || rank >= job->workers.size() || job->workers[rank].finished) return;
  if (job->state == job_state::failed) return;
  job->workers[rank].away = true;
  event(now, "worker_lost", name + " rank " + std::to_string(rank) + ": " + why);
}

}  // namespace tidegate::policies
