#include "policies/coordinator/table_catalog.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "policies/consistency/consistency.hpp"
#include "policies/coordinator/state.hpp"
#include "policies/model/row_rules.hpp"
#include "policies/model/spec.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/base/rng.hpp"

namespace tidegate::policies::coordination {

using runtime::errc;
using runtime::is_planted;
using runtime::planted_bug;
namespace limits = runtime::limits;

namespace {

// Those of the checkpoint with their optimizers of then, and what the YAML has besides. How
// much of a table is in memory is for the machine of today to say.
std::vector<table_spec> first_tables(const job_record& job) {
  if (!job.restored) return job.spec.tables;
  std::vector<table_spec> all;
  std::set<std::string_view> restored;
  for (const auto& table : job.restored->tables) {
    restored.insert(table.name);
    auto& result = all.emplace_back();
    result.name = table.name;
    result.shape = table.shape;
    result.optimizer = table.optimizer;
    result.rows = table.rows;
    for (const auto& declared : job.spec.tables)
      if (declared.name == table.name) result.rows.memory = declared.rows.memory;
  }
  for (const auto& declared : job.spec.tables)
    if (!restored.contains(declared.name)) all.push_back(declared);
  return all;
}

std::string memory_text(const rows_spec& rows) {
  if (rows.memory == 0) return "";
  return ", of which each shard keeps " + std::to_string(rows.memory) + " bytes in memory";
}

// The rows that are asked for. How many are in memory changes no bit: who does not say takes it
// as it is, and a table that was restored keeps it.
rows_spec rows_of(const table_spec& asked, const table_state& known) {
  auto rows = asked.rows;
  if (known.restored || rows.memory == 0) rows.memory = known.spec.rows.memory;
  return rows;
}

}  // namespace

table_catalog::table_catalog(coordinator_state& state)
    : state_(state), placement_(state.cluster.shards, state.cluster.chunk_bytes) {}

void table_catalog::go_on(const recorded_cluster& before) {
  for (const auto& table : before.tables) {
    const auto job = state_.jobs.index_of(*state_.jobs.find(table.job));
    for (const auto id : add(job, table.specs)) tables_[id].recorded = true;
    ++sets_recorded_;
  }
}

void table_catalog::open(const table_request& request, ticket requester,
                         coordinator_effects& out) {
  auto* job = state_.jobs.find(request.job);
  if (!job) return refuse(requester, errc::not_found, "no job '" + request.job + "'", out);
  const auto& asked = request.spec;
  const auto name = "table '" + asked.name + "' of job " + request.job;
  if (asked.name.empty() || asked.name.size() > limits::name_bytes_max)
    return refuse(requester, errc::invalid_argument, "a table name of 1 to 128 bytes is needed",
                  out);
  if (asked.size() == 0 || asked.size() > limits::table_elements_max)
    return refuse(requester, errc::invalid_argument, name + " would be empty or too large",
                  out);
  if (asked.size() * sizeof(float) / state_.cluster.chunk_bytes >= limits::table_chunks_max)
    return refuse(requester, errc::over_limit,
                  name + " would have more than " + std::to_string(limits::table_chunks_max) +
                      " chunks; a larger cluster.chunk_bytes makes fewer",
                  out);
  if (job->has_ended())
    return refuse(requester, errc::refused, name + ": the job has ended", out);
  const auto index = state_.jobs.index_of(*job);
  if (const auto at = ids_.find({index, asked.name}); at != ids_.end())
    return attach(tables_[at->second], request, requester, out);
  if (tables_.size() >= limits::tables_max)
    return refuse(requester, errc::over_limit, "the cluster holds its limit of tables", out);
  if (!state_.lifecycle.all_in() || !state_.aggregators.all_ready(*job))
    return refuse(requester, errc::unavailable, "not all shards and aggregators have joined",
                  out);
  auto spec = asked;
  if (!request.optimizer_given) spec.optimizer = job->spec.optimizer;
  settle_segments(spec);
  if (auto checked = check_table(spec, job->spec); !checked.ok())
    return refuse(requester, checked.code(), name + ": " + checked.message(), out);
  create(index, {spec}, requester, out);
}

void table_catalog::attach(const table_state& known, const table_request& request,
                           ticket requester, coordinator_effects& out) {
  const auto& asked = request.spec;
  const auto name = "table '" + asked.name + "' of job " + request.job;
  if (known.spec.has_rows() != asked.has_rows())
    return refuse(requester, errc::invalid_argument,
                  name + (asked.has_rows() ? " exists, and is dense" : " has rows by id"), out);
  if (known.spec.rows.dim != asked.rows.dim)
    return refuse(requester, errc::invalid_argument,
                  name + " exists with rows of " + std::to_string(known.spec.rows.dim) +
                      " values, not " + std::to_string(asked.rows.dim),
                  out);
  const bool is_other =
      asked.has_rows() ? request.options_given && (known.spec.shape != asked.shape ||
                                                   known.spec.rows != rows_of(asked, known))
                       : known.spec.shape != asked.shape;
  if (is_other)
    return refuse(
        requester, errc::invalid_argument,
        name + (asked.has_rows()
                    ? " exists with another capacity, parts, init, lifetime, segments or memory"
                    : " exists with another shape"),
        out);
  if ((request.optimizer_given && known.spec.optimizer != asked.optimizer) ||
      (request.options_given && !known.restored && known.spec.init != asked.init))
    return refuse(requester, errc::invalid_argument,
                  name + " exists with another optimizer or init", out);
  if (known.ready) {
    out.answers.push_back({requester, {}, known.grant});
    return;
  }
  auto* const opening = state_.calls.find_if([&](const call_group& group) {
    const auto* table = std::get_if<std::uint32_t>(&group.about);
    return table && *table == known.grant.table;
  });
  if (!opening)
    return refuse(requester, errc::unavailable, name + ": not all shards have come back", out);
  opening->waiting.push_back(requester);
}

void table_catalog::create(std::size_t job, std::vector<table_spec> specs, ticket requester,
                           coordinator_effects& out) {
  if (specs.empty()) return;
  const auto numbers = add(job, specs);
  if (requester == 0 || !is_planted(planted_bug::created_table_not_recorded))
    out.records.emplace_back(recorded_tables{.number = sets_recorded_++,
                                             .job = state_.jobs[job].spec.name,
                                             .specs = std::move(specs)});
  for (const auto id : numbers) open_at_shards(id, requester, out);
}

// Ids and places follow from the order of the calls.
std::vector<std::uint32_t> table_catalog::add(std::size_t job,
                                              const std::vector<table_spec>& specs) {
  auto placed = placement_.add(specs);
  std::vector<std::uint32_t> numbers;
  std::set<std::string_view> restored;
  if (const auto& from = state_.jobs[job].restored)
    for (const auto& table : from->tables) restored.insert(table.name);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const auto id = static_cast<std::uint32_t>(tables_.size());
    const bool is_old = restored.contains(specs[i].name);
    ids_.emplace(std::pair(job, specs[i].name), id);
    tables_.push_back({job,
                       specs[i],
                       {.table = id,
                        .elements = specs[i].size(),
                        .name = specs[i].name,
                        .places = std::move(placed[i]),
                        .lazy = specs[i].optimizer.lazy,
                        .rows = specs[i].rows,
                        .reduce = specs[i].optimizer.reduce},
                       false,
                       is_old,
                       false});
    numbers.push_back(id);
  }
  return numbers;
}

void table_catalog::open_all(std::size_t job, coordinator_effects& out) {
  bool any = false;
  for (const auto& table : tables_) {
    if (table.job != job) continue;
    any = true;
    open_at_shards(table.grant.table, 0, out);
  }
  if (!any) create(job, first_tables(state_.jobs[job]), 0, out);
}

void table_catalog::opened(std::int64_t now, const call_group& done, coordinator_effects& out) {
  auto& table = tables_[std::get<std::uint32_t>(done.about)];
  table.ready = true;
  const auto chunks = std::to_string(table.grant.places.size());
  state_.events.add(
      now, "table_open",
      state_.jobs[table.job].spec.name + " " + table.spec.name + ": " +
          (table.spec.has_rows()
               ? "rows of " + std::to_string(table.spec.rows.dim) + " in " + chunks + " parts" +
                     memory_text(table.spec.rows)
               : std::to_string(table.grant.elements) + " elements in " + chunks + " chunks"),
      {.job = state_.jobs[table.job].spec.name});
  for (const auto requester : done.waiting) out.answers.push_back({requester, {}, table.grant});
  state_.changes.let_leave(out);
  state_.admissions.admit_early(out);
}

bool table_catalog::has_all_before(const job_record& job) const {
  return std::none_of(tables_.begin(), tables_.end(), [&](const table_state& table) {
    return &state_.jobs[table.job] == &job && (table.restored || table.recorded) &&
           !table.ready;
  });
}

void table_catalog::open_at_shards(std::uint32_t id, ticket requester,
                                   coordinator_effects& out) {
  const auto& table = tables_[id];
  const auto& job = state_.jobs[table.job];
  const auto group = state_.calls.make_group(table.job, requester);
  state_.calls.group(group).about = id;
  auto opening = call_of(table);
  if (table.restored) opening.restore = job.restored->id;
  const auto& places = table.grant.places;
  for (std::uint32_t shard = 0; shard < state_.cluster.shards; ++shard) {
    auto mine = opening;
    std::copy_if(places.begin(), places.end(), std::back_inserter(mine.places),
                 [&](const chunk_place& place) { return place.shard == shard; });
    if (mine.places.empty()) continue;
    for (const auto& recipient : state_.replicas.members_of(shard))
      state_.calls.call(group, recipient, mine, out);
  }
  // Those that come to the next coordinator are told when they are set up.
  if (table.recorded) return;
  opening.places = places;
  if (table.restored) opening.first_clocks.assign(places.size(), job.restored->clock);
  stage_at_aggregators(job, opening, group);
}

// After the shards, from the top down: who is told of a table may rely on those above.
void table_catalog::stage_at_aggregators(const job_record& job, const open_table_call& call,
                                         group_id group) {
  auto& later = state_.calls.group(group).later;
  later.resize(job.sums.depths());
  for (std::uint32_t at = 0; at < job.sums.aggregators.size(); ++at) {
    const auto& place = job.sums.aggregators[at];
    auto mine = call;
    if (place.parent != no_aggregator)
      for (auto& chunk : mine.places) chunk.shard = 0;
    later[later.size() - 1 - place.depth].push_back({{at, true}, std::move(mine)});
  }
}

// As if it were new.
open_table_call table_catalog::call_of(const table_state& table) const {
  return {.token = state_.jobs[table.job].token,
          .table = table.grant.table,
          .optimizer = table.spec.optimizer,
          .init = table.spec.init,
          .init_key = runtime::stream_key(state_.jobs[table.job].spec.seed, table.spec.name),
          .places = {},
          .name = table.spec.name,
          .shape = table.spec.shape,
          .restore = {},
          .first_clocks = {},
          .rows = table.spec.rows};
}

std::vector<std::uint32_t> table_catalog::opened_tables(std::size_t job) const {
  std::set<std::uint32_t> ids;
  for (const auto& worker : state_.jobs[job].workers)
    if (worker.tables) ids.insert(worker.tables->begin(), worker.tables->end());
  return {ids.begin(), ids.end()};
}

// What a process of this rank may have pushed to. One that has not said so has pushed nothing,
// but in an earlier epoch.
std::vector<std::uint32_t> table_catalog::tables_of(const job_record& job,
                                                    std::uint32_t rank) const {
  if (job.workers[rank].tables) return *job.workers[rank].tables;
  std::vector<std::uint32_t> ids;
  for (const auto& table : tables_)
    if (table.restored && &state_.jobs[table.job] == &job) ids.push_back(table.grant.table);
  return ids;
}

std::set<std::uint32_t> table_catalog::holders_of(std::size_t job) const {
  std::set<std::uint32_t> shards;
  for (const auto id : opened_tables(job))
    for (const auto& place : tables_[id].grant.places) shards.insert(place.shard);
  return shards;
}

void table_catalog::opened_by(std::int64_t now, const std::string& name, std::uint32_t rank,
                              std::vector<std::uint32_t> tables, coordinator_effects& out) {
  auto* job = state_.jobs.find(name);
  if (!job || rank >= job->workers.size()) return;
  std::sort(tables.begin(), tables.end());
  job->workers[rank].tables = tables;
  record(*job, rank, out);
  if (!traits_of(job->spec.consistency.kind).waits_for_others)
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
  state_.lifecycle.fail_job(
      now, name,
      member(mine ? rank : first) + " opened table '" +
          (odd < tables_.size() ? tables_[odd].spec.name : "?") + "' and " +
          member(mine ? first : rank) + " did not: under " + to_string(job->spec.consistency) +
          " a table waits for every worker, so all open the same tables before their first "
          "clock()",
      out);
}

std::vector<table_grant> table_catalog::ready_tables(const std::string& name) const {
  std::vector<table_grant> ready;
  for (const auto& table : tables_)
    if (table.ready && state_.jobs[table.job].spec.name == name) ready.push_back(table.grant);
  // By name: the order of a hash over all tables must not depend on who created one first.
  std::sort(ready.begin(), ready.end(),
            [](const table_grant& a, const table_grant& b) { return a.name < b.name; });
  return ready;
}

runtime::status table_catalog::may_tell(const std::string& name) const {
  for (const auto& table : tables_)
    if (table.recorded && !table.ready && state_.jobs[table.job].spec.name == name &&
        state_.jobs[table.job].state != job_state::failed)
      return {errc::unavailable, "not all shards have come back"};
  return {};
}

}  // namespace tidegate::policies::coordination
