// Tables of coordinator_core: who creates one, who attaches, where its chunks go.
#include <algorithm>
#include <utility>

#include "policies/coordinator_core.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/base/rng.hpp"

namespace tidegate::policies {

using runtime::errc;
namespace limits = runtime::limits;

void coordinator_core::open_table(const table_request& request, ticket who,
                                  coordinator_effects& out) {
  auto* job = find(request.job);
  if (!job) return refuse(who, errc::not_found, "no job '" + request.job + "'", out);
  const auto& asked = request.spec;
  const auto name = "table '" + asked.name + "' of job " + request.job;
  if (asked.name.empty() || asked.name.size() > limits::name_bytes_max)
    return refuse(who, errc::invalid_argument, "a table name of 1 to 128 bytes is needed", out);
  if (asked.size() == 0 || asked.size() > limits::table_elements_max)
    return refuse(who, errc::invalid_argument, name + " would be empty or too large", out);
  if (asked.size() * sizeof(float) / cluster_.chunk_bytes >= limits::table_chunks_max)
    return refuse(who, errc::over_limit,
                  name + " would have more than " + std::to_string(limits::table_chunks_max) +
                      " chunks; a larger cluster.chunk_bytes makes fewer",
                  out);
  if (job->state == job_state::failed || job->state == job_state::done)
    return refuse(who, errc::refused, name + ": the job has ended", out);
  const auto index = static_cast<std::size_t>(job - jobs_.data());
  const auto known = std::find_if(tables_.begin(), tables_.end(), [&](const table_state& one) {
    return one.job == index && one.spec.name == asked.name;
  });
  if (known != tables_.end()) {
    if (known->spec.shape != asked.shape)
      return refuse(who, errc::invalid_argument, name + " exists with another shape", out);
    if ((request.optimizer_given && known->spec.optimizer != asked.optimizer) ||
        (request.options_given && !known->restored && known->spec.init != asked.init))
      return refuse(who, errc::invalid_argument,
                    name + " exists with another optimizer or init", out);
    if (known->ready) {
      out.answers.push_back({who, {}, known->grant});
      return;
    }
    for (auto& [id, group] : groups_)
      if (const auto* table = std::get_if<std::uint32_t>(&group.about);
          table && *table == known->grant.table)
        group.waiting.push_back(who);
    return;
  }
  if (tables_.size() >= limits::tables_max)
    return refuse(who, errc::over_limit, "the cluster holds its limit of tables", out);
  if (!all_in()) return refuse(who, errc::unavailable, "not all shards have joined", out);
  auto spec = asked;
  if (!request.optimizer_given) spec.optimizer = job->spec.optimizer;
  create_tables(index, {spec}, who, out);
}

void coordinator_core::create_tables(std::size_t job, std::vector<table_spec> specs, ticket who,
                                     coordinator_effects& out) {
  std::vector<std::uint64_t> sizes;
  for (const auto& spec : specs) sizes.push_back(spec.size());
  auto placed = placement_.add(sizes);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const auto id = static_cast<std::uint32_t>(tables_.size());
    const auto& restored = jobs_[job].restored;
    const bool is_old =
        restored && std::any_of(restored->tables.begin(), restored->tables.end(),
                                [&](const auto& one) { return one.name == specs[i].name; });
    tables_.push_back({job, specs[i], {id, sizes[i], specs[i].name, placed[i]}, false, is_old});
    const auto group = make_group(job, who);
    groups_.at(group).about = id;
    auto opening = call_of(tables_.back());
    if (is_old) {
      opening.restore = restored->id;
      opening.first_clock = restored->clock;
    }
    for (std::uint32_t shard = 0; shard < cluster_.shards; ++shard) {
      auto mine = opening;
      std::copy_if(placed[i].begin(), placed[i].end(), std::back_inserter(mine.places),
                   [&](const chunk_place& place) { return place.shard == shard; });
      if (mine.places.empty()) continue;
      for (const auto& one : members_of(shard)) call(group, one, mine, out);
    }
    opening.places = placed[i];
    stage_tables(jobs_[job], opening, group);
  }
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
          0};
}

}  // namespace tidegate::policies
