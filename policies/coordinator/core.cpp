#include "policies/coordinator/core.hpp"

#include <utility>

namespace tidegate::policies {

coordinator_core::coordinator_core(cluster_spec cluster, std::uint64_t token,
                                   restored_cluster from, recorded_cluster before,
                                   std::uint32_t incarnation)
    : state_(std::move(cluster), token, from, before, incarnation) {
  if (!state_.goes_on) to_record_ = recorded_run{std::move(from)};
}

void coordinator_core::begin(std::int64_t now, coordinator_effects& out) {
  if (to_record_) out.records.emplace_back(*std::exchange(to_record_, std::nullopt));
  if (state_.goes_on)
    state_.events.add(now, "coordinator_resumes",
                      "incarnation " + std::to_string(state_.incarnation),
                      {.process = "coordinator-0"});
  for (const auto& job : state_.jobs)
    if (job.restored && !job.restored->left.empty())
      state_.lifecycle.fail_job(
          now, job.spec.name,
          "it cannot go on from checkpoint " + to_string(job.restored->id) + ": rank " +
              std::to_string(job.restored->left.front()) +
              " had left by then, behind an aggregator, and would push what others have "
              "been summed without; launch it anew, or without jobs." +
              job.spec.name + ".aggregators",
          out);
}

bool coordinator_core::shard_joined(std::int64_t now, std::uint32_t index, std::string address,
                                    ticket requester, coordinator_effects& out,
                                    group_member member) {
  return state_.replicas.joined(now, index, std::move(address), requester, out, member);
}

bool coordinator_core::host_joined(std::int64_t now, shard_map::process process,
                                   std::uint32_t incarnation,
                                   std::span<const hosted_member> has, ticket requester,
                                   coordinator_effects& out) {
  return state_.mover.host_joined(now, process, incarnation, has, requester, out);
}

bool coordinator_core::aggregator_joined(std::int64_t now, const std::string& job,
                                         std::uint32_t index, std::string address,
                                         ticket requester, coordinator_effects& out,
                                         std::uint32_t incarnation) {
  return state_.aggregators.joined(now, job, index, std::move(address), requester, out,
                                   incarnation);
}

bool coordinator_core::worker_joined(std::int64_t now, const worker_hello& hello,
                                     ticket requester, coordinator_effects& out) {
  return state_.admissions.worker_joined(now, hello, requester, out);
}

void coordinator_core::open_table(const table_request& request, ticket requester,
                                  coordinator_effects& out) {
  state_.tables.open(request, requester, out);
}

void coordinator_core::call_done(std::int64_t now, call_id call, const runtime::status& result,
                                 coordinator_effects& out, std::uint64_t answer,
                                 std::span<const chunk_clock> clocks) {
  state_.calls.answered(now, call, result, out, answer, clocks);
}

void coordinator_core::tables_opened(std::int64_t now, const std::string& job,
                                     std::uint32_t rank, std::vector<std::uint32_t> tables,
                                     coordinator_effects& out) {
  state_.tables.opened_by(now, job, rank, std::move(tables), out);
}

void coordinator_core::progress(std::int64_t now, const std::string& job, std::uint32_t rank,
                                const worker_progress& report, coordinator_effects& out) {
  state_.lifecycle.progress(now, job, rank, report, out);
}

void coordinator_core::arrivals(std::int64_t now, const std::string& reporter,
                                const shard_report& report) {
  state_.lifecycle.arrivals(now, reporter, report);
}

void coordinator_core::checkpoint_begun(std::int64_t now, const std::string& job,
                                        checkpoint_id id, coordinator_effects& out) {
  state_.checkpoints.begun(now, job, id, out);
}

void coordinator_core::checkpoint_part(std::int64_t now, const checkpoint_report& report,
                                       coordinator_effects& out) {
  state_.checkpoints.part(now, report, out);
}

void coordinator_core::checkpoint_written(std::int64_t now, const std::string& job,
                                          checkpoint_id id, const runtime::status& result,
                                          coordinator_effects& out) {
  state_.checkpoints.written(now, job, id, result, out);
}

void coordinator_core::want_last_checkpoint(const std::string& job) {
  state_.checkpoints.want_last(job);
}

runtime::status coordinator_core::metric(const std::string& job, const std::string& name,
                                         double value, coordinator_effects& out) {
  return state_.lifecycle.metric(job, name, value, out);
}

void coordinator_core::worker_finished(std::int64_t now, const std::string& job,
                                       std::uint32_t rank, const worker_progress& last,
                                       const std::string& parameters_sha256,
                                       coordinator_effects& out) {
  state_.lifecycle.worker_finished(now, job, rank, last, parameters_sha256, out);
}

void coordinator_core::fail_job(std::int64_t now, const std::string& job,
                                const std::string& why, coordinator_effects& out) {
  state_.lifecycle.fail_job(now, job, why, out);
}

void coordinator_core::moves_of(const std::string& job, std::uint32_t rank,
                                std::uint32_t incarnation, coordinator_effects& out) {
  state_.admissions.moves_of(job, rank, incarnation, out);
}

runtime::status coordinator_core::scale(std::int64_t now, const std::string& job,
                                        std::uint32_t workers, coordinator_effects& out) {
  return state_.changes.scale(now, job, workers, out);
}

runtime::status coordinator_core::scale_shards(std::int64_t now, std::uint32_t slots,
                                               coordinator_effects& out) {
  return state_.mover.scale(now, slots, out);
}

void coordinator_core::worker_leaves(std::int64_t now, const std::string& job,
                                     std::uint32_t rank, ticket requester,
                                     coordinator_effects& out) {
  state_.changes.worker_leaves(now, job, rank, requester, out);
}

bool coordinator_core::is_to_hash(const std::string& job, std::uint32_t rank) const {
  return state_.lifecycle.is_to_hash(job, rank);
}

bool coordinator_core::shard_lost(std::int64_t now, std::uint32_t index, const std::string& why,
                                  coordinator_effects& out, std::uint32_t member) {
  return state_.replicas.lost(now, index, why, out, member);
}

void coordinator_core::host_lost(shard_map::process process, std::uint32_t incarnation) {
  state_.mover.host_lost(process, incarnation);
}

void coordinator_core::member_gone(std::int64_t now, const hosted_member& hosted,
                                   coordinator_effects& out) {
  state_.mover.member_gone(now, hosted, out);
}

void coordinator_core::aggregator_lost(std::int64_t now, const std::string& job,
                                       std::uint32_t index, const std::string& why,
                                       coordinator_effects& out) {
  state_.aggregators.lost(now, job, index, why, out);
}

void coordinator_core::worker_lost(std::int64_t now, const std::string& job, std::uint32_t rank,
                                   const std::string& why) {
  state_.lifecycle.worker_lost(now, job, rank, why);
}

void coordinator_core::unreachable(std::int64_t now, const std::string& reporter,
                                   std::span<const unreachable_peer> peers) {
  state_.waits.unreachable(now, reporter, peers);
}

void coordinator_core::out_of_reach(std::int64_t now, const std::string& address) {
  state_.waits.out_of_reach(now, address);
}

void coordinator_core::out_of_reach(std::int64_t now, shard_map::process process,
                                    std::uint32_t incarnation) {
  state_.waits.out_of_reach(now, process, incarnation);
}

void coordinator_core::look_at_waits(std::int64_t now) {
  state_.waits.look(now);
}

std::vector<table_grant> coordinator_core::tables(const std::string& job) const {
  return state_.tables.ready_tables(job);
}

runtime::status coordinator_core::may_tell_tables(const std::string& job) const {
  return state_.tables.may_tell(job);
}

checkpoint_id coordinator_core::last_checkpoint(const std::string& job) const {
  return state_.checkpoints.last(job);
}

}  // namespace tidegate::policies
