// Tables of coordinator_core: who creates one, who attaches, where its chunks go.
#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "policies/coordinator/core.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/base/rng.hpp"

namespace tidegate::policies {

using runtime::errc;
using runtime::is_planted;
using runtime::planted_bug;
namespace limits = runtime::limits;

void coordinator_core::open_table(const table_request& request, ticket requester,
                                  coordinator_effects& out) {
  auto* job = find(request.job);
  if (!job) return refuse(requester, errc::not_found, "no job '" + request.job + "'", out);
  const auto& asked = request.spec;
  const auto name = "table '" + asked.name + "' of job " + request.job;
  if (asked.name.empty() || asked.name.size() > limits::name_bytes_max)
    return refuse(requester, errc::invalid_argument, "a table name of 1 to 128 bytes is needed",
                  out);
  if (asked.size() == 0 || asked.size() > limits::table_elements_max)
    return refuse(requester, errc::invalid_argument, name + " would be empty or too large",
                  out);
  if (asked.size() * sizeof(float) / cluster_.chunk_bytes >= limits::table_chunks_max)
    return refuse(requester, errc::over_limit,
                  name + " would have more than " + std::to_string(limits::table_chunks_max) +
                      " chunks; a larger cluster.chunk_bytes makes fewer",
                  out);
  if (job->state == job_state::failed || job->state == job_state::done)
    return refuse(requester, errc::refused, name + ": the job has ended", out);
  const auto index = static_cast<std::size_t>(job - jobs_.data());
  if (const auto at = table_ids_.find({index, asked.name}); at != table_ids_.end()) {
    const auto* const known = &tables_[at->second];
    if (known->spec.shape != asked.shape)
      return refuse(requester, errc::invalid_argument, name + " exists with another shape",
                    out);
    if ((request.optimizer_given && known->spec.optimizer != asked.optimizer) ||
        (request.options_given && !known->restored && known->spec.init != asked.init))
      return refuse(requester, errc::invalid_argument,
                    name + " exists with another optimizer or init", out);
    if (known->ready) {
      out.answers.push_back({requester, {}, known->grant});
      return;
    }
    for (auto& [id, group] : groups_)
      if (const auto* table = std::get_if<std::uint32_t>(&group.about);
          table && *table == known->grant.table) {
        group.waiting.push_back(requester);
        return;
      }
    return refuse(requester, errc::unavailable, name + ": not all shards have come back", out);
  }
  if (tables_.size() >= limits::tables_max)
    return refuse(requester, errc::over_limit, "the cluster holds its limit of tables", out);
  if (!all_in() || !all_ready(*job))
    return refuse(requester, errc::unavailable, "not all shards and aggregators have joined",
                  out);
  auto spec = asked;
  if (!request.optimizer_given) spec.optimizer = job->spec.optimizer;
  create_tables(index, {spec}, requester, out);
}

void coordinator_core::create_tables(std::size_t job, std::vector<table_spec> specs,
                                     ticket requester, coordinator_effects& out) {
  if (specs.empty()) return;
  const auto numbers = add_tables(job, specs);
  if (requester == 0 || !is_planted(planted_bug::created_table_not_recorded))
    out.records.emplace_back(
        recorded_tables{tables_recorded_++, jobs_[job].spec.name, std::move(specs)});
  for (const auto id : numbers) open_at_shards(id, requester, out);
}

// Ids and places follow from the order of the calls.
std::vector<std::uint32_t> coordinator_core::add_tables(std::size_t job,
                                                        const std::vector<table_spec>& specs) {
  std::vector<std::uint64_t> sizes;
  for (const auto& spec : specs) sizes.push_back(spec.size());
  auto placed = placement_.add(sizes);
  std::vector<std::uint32_t> numbers;
  std::set<std::string_view> restored;
  if (const auto& from = jobs_[job].restored)
    for (const auto& table : from->tables) restored.insert(table.name);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const auto id = static_cast<std::uint32_t>(tables_.size());
    const bool is_old = restored.contains(specs[i].name);
    table_ids_.emplace(std::pair(job, specs[i].name), id);
    tables_.push_back({job,
                       specs[i],
                       {id, sizes[i], specs[i].name, std::move(placed[i])},
                       false,
                       is_old,
                       false});
    numbers.push_back(id);
  }
  return numbers;
}

void coordinator_core::open_at_shards(std::uint32_t id, ticket requester,
                                      coordinator_effects& out) {
  const auto& table = tables_[id];
  const auto& job = jobs_[table.job];
  const auto group = make_group(table.job, requester);
  groups_.at(group).about = id;
  auto opening = call_of(table);
  if (table.restored) opening.restore = job.restored->id;
  const auto& places = table.grant.places;
  for (std::uint32_t shard = 0; shard < cluster_.shards; ++shard) {
    auto mine = opening;
    std::copy_if(places.begin(), places.end(), std::back_inserter(mine.places),
                 [&](const chunk_place& place) { return place.shard == shard; });
    if (mine.places.empty()) continue;
    for (const auto& recipient : members_of(shard)) call(group, recipient, mine, out);
  }
  // Those that come to the next coordinator are told when they are set up.
  if (table.recorded) return;
  opening.places = places;
  if (table.restored) opening.first_clocks.assign(places.size(), job.restored->clock);
  stage_tables(job, opening, group);
}

// As if it were new.
open_table_call coordinator_core::call_of(const table_state& table) const {
  return {jobs_[table.job].token,
          table.grant.table,
          table.spec.optimizer,
          table.spec.init,
          runtime::stream_key(jobs_[table.job].spec.seed, table.spec.name),
          {},
          table.spec.name,
          table.spec.shape,
          {},
          {}};
}

}  // namespace tidegate::policies
