#include "policies/shard/job_admin.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "policies/consistency/consistency.hpp"
#include "policies/consistency/relay.hpp"
#include "policies/model/clock_vector.hpp"
#include "policies/shard/state.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"

namespace tidegate::policies::sharding {

using runtime::is_planted;
using runtime::planted_bug;

void job_admin::open_job(std::uint64_t token, const job_options& options) {
  state_.registry.open_job(token, options, 0);
}

void job_admin::open_relay(std::uint64_t token, const job_options& options, std::size_t parts) {
  TIDEGATE_ASSERT(!options.members.empty() && parts >= 1, "an aggregator sums somebody");
  state_.registry.open_job(token, options, parts);
}

std::vector<owned_chunk> job_admin::open_table(std::uint64_t token, std::uint32_t table,
                                               std::span<const chunk_place> places,
                                               bool has_rows) {
  auto& opened = state_.registry.open_table(token, table);
  opened.has_rows = has_rows;
  const auto& job = *opened.job;
  std::vector<owned_chunk> owned;
  for (const auto& place : places) {
    bool is_new = false;
    const auto slot = state_.registry.add_chunk(table, place, is_new);
    owned.push_back({place.chunk, slot, place.first, place.elements});
    if (is_new) add_chunk(job, slot);
  }
  return owned;
}

void job_admin::add_chunk(const job_record& job, std::uint32_t slot) {
  auto& chunk = state_.registry.chunk(slot);
  const auto workers = chunk.ranks();
  state_.pushes.add_chunk(workers);
  state_.pulls.add_chunk(workers);
  state_.replication.add_chunk(job);
  state_.follower.add_chunk();
  state_.relay.add_chunk();
  state_.snapshots.add_chunk();
  if (job.clips_by_norm) {
    auto clipped = std::make_unique<bsp_policy>(workers, true);
    chunk.clipped = clipped.get();
    chunk.policy = std::move(clipped);
  } else if (job.relay_parts == 0) {
    chunk.policy = make_policy(job.consistency, workers);
  } else {
    auto relay = std::make_unique<relay_policy>(job.consistency, workers, job.relay_parts,
                                                job.keeps > 0);
    chunk.relay = relay.get();
    chunk.policy = std::move(relay);
  }
  for (std::uint32_t rank = 0; rank < workers; ++rank)
    if (const auto& worker = job.ranks[rank];
        !worker.member || worker.finished || worker.joined > 0)
      chunk.policy->worker_absent(rank);
  for (std::uint32_t rank = 0; rank < workers; ++rank)
    if (const auto& worker = job.ranks[rank];
        worker.member && !worker.finished && worker.joined > 0) {
      chunk.policy->worker_joins(rank, worker.joined);
      state_.pushes.set_next(slot, rank, worker.joined);
    }
  if (const auto first = chunk.policy->first_clock(); job.has_exact_versions() && first > 0) {
    chunk.versions.begin_at(first);
    chunk.policy->restore(first, {});
  }
  if (job.epoch != 0) state_.membership.begin_hold(job, *chunk.policy);
}

void job_admin::forget_table(std::uint32_t table) {
  for (const auto slot : state_.registry.slots_of(table)) {
    state_.pushes.forget_chunk(slot);
    state_.pulls.forget_chunk(slot);
    state_.replication.forget_chunk(state_.registry.chunk(slot));
    state_.follower.forget_chunk(slot);
    state_.relay.forget_chunk(slot);
    state_.snapshots.forget_chunk(slot);
  }
  state_.registry.remove_table(table);
}

reply_code job_admin::admit_worker(std::uint64_t token, std::uint32_t rank,
                                   std::uint32_t incarnation) {
  auto* job = state_.registry.find_job(token);
  if (!job) return reply_code::unknown_job;
  if (rank >= job->ranks.size() || !job->ranks[rank].member) return reply_code::unknown_worker;
  auto& worker = job->ranks[rank];
  if (incarnation < worker.incarnation) return reply_code::unknown_worker;
  if (incarnation == worker.incarnation) return reply_code::ok;
  worker.incarnation = incarnation;
  worker.shut_out = false;
  forget_process(*job, rank);
  return reply_code::ok;
}

void job_admin::forget_process(const job_record& job, std::uint32_t rank) {
  for (const auto slot : job.slots) {
    auto& chunk = state_.registry.chunk(slot);
    chunk.policy->worker_replaced(rank);
    state_.pulls.forget_process(chunk, rank);
    state_.pushes.forget_process(slot, rank);
  }
}

std::uint64_t job_admin::first_missing(std::uint64_t token, std::uint32_t rank,
                                       std::span<const std::uint32_t> tables) const {
  auto first = clock_vector::infinity;
  for (const auto table : tables) {
    if (!state_.registry.has_table(token, table)) continue;
    for (const auto slot : state_.registry.slots_of(table)) {
      const auto& chunk = state_.registry.chunk(slot);
      if (rank >= chunk.ranks()) return first;
      const auto has = state_.pushes.settled_below(chunk, rank);
      const bool furthest = is_planted(planted_bug::resumes_where_the_furthest_chunk_is) &&
                            first != clock_vector::infinity;
      first = furthest ? std::max(first, has) : std::min(first, has);
    }
  }
  return first;
}

std::vector<chunk_clock> job_admin::first_clocks(std::uint64_t token,
                                                 std::span<const std::uint32_t> ranks) const {
  std::vector<chunk_clock> found;
  const auto* job = state_.registry.find_job(token);
  if (!job) return found;
  for (const auto slot : job->slots) {
    const auto& chunk = state_.registry.chunk(slot);
    auto first = clock_vector::infinity;
    for (const auto rank : ranks)
      if (rank < chunk.ranks())
        first = std::min(first, state_.pushes.settled_below(chunk, rank));
    found.push_back({chunk.table, chunk.chunk, first});
  }
  return found;
}

void job_admin::close_job(std::uint64_t token, shard_effects& out) {
  auto* job = state_.registry.find_job(token);
  if (!job || job->closed) return;
  job->closed = true;
  state_.arrivals.forget(token);
  for (const auto slot : job->slots) {
    auto& chunk = state_.registry.chunk(slot);
    for (std::uint32_t rank = 0; rank < chunk.ranks(); ++rank) {
      state_.pushes.close(chunk, rank, out);
      state_.pulls.close(chunk, rank, out);
    }
  }
  state_.replies.flush(out);
}

void job_admin::finished(const frame_tag& tag, shard_effects& out) {
  if (const auto code = state_.registry.check_worker(tag); code != reply_code::ok) {
    out.list.push_back(shard_effects::acknowledge{tag, code});
    return;
  }
  has_finished(tag.job, tag.rank, out);
  if (!state_.replication.await_farewell(tag.job, tag.rank, out))
    out.list.push_back(shard_effects::acknowledge{tag, reply_code::ok});
}

void job_admin::has_finished(std::uint64_t token, std::uint32_t rank, shard_effects& out) {
  auto& job = state_.registry.job(token);
  job.ranks[rank].finished = true;
  state_.pushes.forget_behind_gaps(job, rank, out);
  for (const auto slot : job.slots) {
    auto& chunk = state_.registry.chunk(slot);
    chunk.policy->worker_finished(rank, state_.steps.decisions());
    state_.steps.carry_out(chunk, chunk_registry::base_of(chunk), out);
  }
  state_.replies.flush(out);
}

}  // namespace tidegate::policies::sharding
