#include "policies/shard/registry.hpp"

#include <algorithm>

#include "policies/shard/state.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"

namespace tidegate::policies::sharding {

using runtime::is_planted;
using runtime::planted_bug;

void chunk_registry::open_job(std::uint64_t token, const job_options& options,
                              std::size_t relay_parts) {
  auto [at, fresh] = jobs_.try_emplace(token);
  if (!fresh) return;
  auto& job = at->second;
  job.token = token;
  job.epoch = options.epoch;
  job.consistency = options.consistency;
  job.keeps = versions_kept(options.consistency, options.workers_come_back, options.replicated);
  job.relay_parts = relay_parts;
  job.clips_by_norm = options.clips_by_norm;
  job.ranks.resize(options.workers);
  job.membership =
      membership_schedule(options.contributors > 0 ? options.contributors : options.workers);
  const auto& members = options.members;
  if (members.empty()) return;
  for (std::uint32_t rank = 0; rank < options.workers; ++rank)
    job.ranks[rank].member = std::binary_search(members.begin(), members.end(), rank);
}

table_record& chunk_registry::open_table(std::uint64_t token, std::uint32_t table) {
  const auto job = jobs_.find(token);
  TIDEGATE_ASSERT(job != jobs_.end(), "a table is opened after its job");
  auto [at, fresh] = tables_.try_emplace(table);
  if (fresh) {
    at->second.job = &job->second;
    at->second.runs.resize(job->second.ranks.size());
  }
  return at->second;
}

std::uint32_t chunk_registry::add_chunk(std::uint32_t table, const chunk_place& place,
                                        bool& is_new) {
  auto& home = tables_.at(table);
  const auto next = static_cast<std::uint32_t>(chunks_.size());
  const auto [entry, added] = home.slots.try_emplace(place.chunk, next);
  is_new = added;
  if (!added) return entry->second;
  auto& chunk = chunks_.emplace_back();
  chunk.slot = next;
  chunk.table = table;
  chunk.chunk = place.chunk;
  chunk.index = static_cast<std::uint32_t>(home.order.size());
  chunk.elements = place.elements;
  chunk.home = &home;
  chunk.versions = chunk_versions(chunk.ranks(), home.job->keeps);
  home.order.push_back(next);
  home.job->slots.push_back(next);
  return next;
}

void chunk_registry::remove_table(std::uint32_t table) {
  const auto at = tables_.find(table);
  if (at == tables_.end()) return;
  std::erase_if(at->second.job->slots, [&](auto slot) { return chunks_[slot].table == table; });
  for (const auto slot : at->second.order) chunks_[slot] = {};
  tables_.erase(at);
}

job_record* chunk_registry::find_job(std::uint64_t token) {
  const auto job = jobs_.find(token);
  return job == jobs_.end() ? nullptr : &job->second;
}

job_record* chunk_registry::find_job(std::uint64_t token, std::uint32_t rank) {
  auto* job = find_job(token);
  return job && rank < job->ranks.size() ? job : nullptr;
}

reply_code chunk_registry::check_worker(const frame_tag& tag) const {
  const auto job = jobs_.find(tag.job);
  if (job == jobs_.end()) return reply_code::unknown_job;
  if (job->second.closed) return reply_code::job_ended;
  if (tag.epoch != job->second.epoch && !is_planted(planted_bug::stale_epoch_accepted))
    return reply_code::stale_epoch;
  if (tag.rank >= job->second.ranks.size()) return reply_code::unknown_worker;
  const auto& worker = job->second.ranks[tag.rank];
  if (worker.incarnation == 0 || worker.incarnation != tag.incarnation || worker.shut_out)
    return reply_code::unknown_worker;
  return reply_code::ok;
}

reply_code chunk_registry::check_table(const frame_tag& tag) const {
  if (const auto code = check_worker(tag); code != reply_code::ok) return code;
  return has_table(tag.job, tag.table) ? reply_code::ok : reply_code::unknown_table;
}

reply_code chunk_registry::find_chunk(const frame_tag& tag, std::uint32_t& slot) const {
  if (const auto code = check_table(tag); code != reply_code::ok) return code;
  const auto& slots = tables_.at(tag.table).slots;
  const auto chunk = slots.find(tag.chunk);
  if (chunk == slots.end()) return reply_code::unknown_chunk;
  slot = chunk->second;
  return reply_code::ok;
}

bool chunk_registry::has_table(std::uint64_t token, std::uint32_t table) const {
  const auto at = tables_.find(table);
  return at != tables_.end() && at->second.job->token == token;
}

std::span<const std::uint32_t> chunk_registry::slots_of(std::uint32_t table) const {
  const auto at = tables_.find(table);
  if (at == tables_.end()) return {};
  return at->second.order;
}

bool chunk_registry::has_rows(std::uint32_t table) const {
  const auto at = tables_.find(table);
  return at != tables_.end() && at->second.has_rows;
}

std::optional<std::uint32_t> chunk_registry::find_slot(std::uint64_t token, std::uint32_t table,
                                                       std::uint32_t chunk) const {
  if (!has_table(token, table)) return {};
  const auto& slots = tables_.at(table).slots;
  const auto at = slots.find(chunk);
  if (at == slots.end()) return {};
  return at->second;
}

frame_tag chunk_registry::name_of(std::uint32_t slot) const {
  const auto& chunk = chunks_[slot];
  auto tag = base_of(chunk);
  tag.table = chunk.table;
  tag.chunk = chunk.chunk;
  return tag;
}

frame_tag chunk_registry::tag_of(const chunk_record& chunk, std::uint32_t rank,
                                 std::uint64_t clock, const frame_tag& base) const {
  frame_tag tag = base;
  tag.rank = rank;
  tag.clock = clock;
  tag.table = chunk.table;
  tag.chunk = chunk.chunk;
  tag.request = state_.pulls.request_of(chunk.slot, rank);
  tag.incarnation = chunk.job().ranks[rank].incarnation;
  return tag;
}

frame_tag chunk_registry::base_of(const chunk_record& chunk) {
  frame_tag base;
  base.job = chunk.job().token;
  base.epoch = chunk.job().epoch;
  return base;
}

std::vector<std::uint64_t> chunk_registry::open_jobs() const {
  std::vector<std::uint64_t> tokens;
  for (const auto& [token, job] : jobs_)
    if (!job.closed) tokens.push_back(token);
  return tokens;
}

std::vector<std::uint64_t> chunk_registry::all_jobs() const {
  std::vector<std::uint64_t> tokens;
  for (const auto& [token, job] : jobs_) tokens.push_back(token);
  return tokens;
}

std::uint64_t chunk_registry::epoch_of(std::uint64_t token) const {
  const auto job = jobs_.find(token);
  return job == jobs_.end() ? 0 : job->second.epoch;
}

bool chunk_registry::is_closed(std::uint64_t token) const {
  const auto job = jobs_.find(token);
  return job != jobs_.end() && job->second.closed;
}

std::vector<std::uint32_t> chunk_registry::tables_of(std::uint64_t token) const {
  std::vector<std::uint32_t> found;
  for (const auto& [id, table] : tables_)
    if (table.job->token == token) found.push_back(id);
  return found;
}

std::vector<std::uint32_t> chunk_registry::finished_ranks(std::uint64_t token) const {
  std::vector<std::uint32_t> found;
  const auto& ranks = jobs_.at(token).ranks;
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank)
    if (ranks[rank].finished) found.push_back(rank);
  return found;
}

bool chunk_registry::all_finished(std::uint64_t token) const {
  const auto job = jobs_.find(token);
  return job != jobs_.end() &&
         std::all_of(job->second.ranks.begin(), job->second.ranks.end(),
                     [](const rank_record& rank) { return rank.finished || !rank.member; });
}

std::uint64_t chunk_registry::first_clock(std::uint64_t token, std::uint32_t rank) const {
  const auto job = jobs_.find(token);
  return job == jobs_.end() || rank >= job->second.ranks.size()
             ? 0
             : job->second.ranks[rank].joined;
}

}  // namespace tidegate::policies::sharding
