// What coordinator_core does about checkpoints, and for jobs that go on from one.
#include <algorithm>
#include <string_view>
#include <utility>

#include "policies/coordinator/core.hpp"

namespace tidegate::policies {

using runtime::errc;

// Those of the checkpoint with their optimizers of then, and what the YAML has besides.
std::vector<table_spec> coordinator_core::first_tables(const job_record& job) {
  if (!job.restored) return job.spec.tables;
  std::vector<table_spec> all;
  std::set<std::string_view> restored;
  for (const auto& table : job.restored->tables) {
    restored.insert(table.name);
    auto& result = all.emplace_back();
    result.name = table.name;
    result.shape = table.shape;
    result.optimizer = table.optimizer;
  }
  for (const auto& declared : job.spec.tables)
    if (!restored.contains(declared.name)) all.push_back(declared);
  return all;
}

std::vector<std::uint32_t> coordinator_core::opened_tables(std::size_t job) const {
  std::set<std::uint32_t> ids;
  for (const auto& worker : jobs_[job].workers)
    if (worker.tables) ids.insert(worker.tables->begin(), worker.tables->end());
  return {ids.begin(), ids.end()};
}

// What a process of this rank may have pushed to. One that has not said so has pushed nothing,
// but in an earlier epoch.
std::vector<std::uint32_t> coordinator_core::tables_of(const job_record& job,
                                                       std::uint32_t rank) const {
  if (job.workers[rank].tables) return *job.workers[rank].tables;
  std::vector<std::uint32_t> ids;
  for (const auto& table : tables_)
    if (table.restored && &jobs_[table.job] == &job) ids.push_back(table.grant.table);
  return ids;
}

std::set<std::uint32_t> coordinator_core::holders_of(std::size_t job) const {
  std::set<std::uint32_t> shards;
  for (const auto id : opened_tables(job))
    for (const auto& place : tables_[id].grant.places) shards.insert(place.shard);
  return shards;
}

void coordinator_core::carry_out(std::int64_t now, std::size_t index,
                                 const checkpoint_effects& effects, coordinator_effects& out) {
  auto& job = jobs_[index];
  for (const auto& effect : effects.list) {
    if (std::holds_alternative<checkpoint_effects::begin>(effect)) {
      out.checkpoints.push_back({job.spec.name});
    } else if (const auto* ask = std::get_if<checkpoint_effects::ask>(&effect)) {
      const auto id = ++last_id_;
      asked_[id] = {index, ask->shard, ask->id};
      out.calls.push_back(
          {ask->shard, id,
           checkpoint_call{job.token, ask->id, ask->clock, opened_tables(index)}, "",
           primary_of(ask->shard).member});
    } else if (const auto* write = std::get_if<checkpoint_effects::write>(&effect)) {
      out.manifests.push_back({manifest_of(index, *write), job.spec.checkpoint->keep});
    } else if (const auto* ended = std::get_if<checkpoint_effects::ended>(&effect)) {
      round_ended(now, job, *ended, out);
    }
  }
}

void coordinator_core::round_ended(std::int64_t now, job_record& job,
                                   const checkpoint_effects::ended& ended,
                                   coordinator_effects& out) {
  const auto name = job.spec.name + " " + to_string(ended.id);
  if (!ended.result.ok()) {
    event(now, "checkpoint_given_up", name + ": " + ended.result.to_string());
  } else if (ended.id.number > 0) {
    ++job.checkpoints;
    job.checkpoint_clock = ended.clock;
    record(job, out);
    event(now, "checkpoint", name + " clock " + std::to_string(ended.clock));
  }
  if (ended.final) done(now, job, out);
}

// Under bsp a cut has whole clocks; a rank that pushes to shards has a clock of its own there.
std::vector<std::uint32_t> coordinator_core::left_out_of_sums(const job_record& job) {
  std::vector<std::uint32_t> ranks;
  if (job.spec.consistency.kind == consistency_kind::bsp) return ranks;
  for (std::uint32_t rank = 0; rank < job.workers.size(); ++rank)
    if (job.workers[rank].left && job.sums.of_worker[rank] != no_aggregator)
      ranks.push_back(rank);
  return ranks;
}

checkpoint_manifest coordinator_core::manifest_of(std::size_t index,
                                                  const checkpoint_effects::write& step) const {
  const auto& spec = jobs_[index].spec;
  checkpoint_manifest manifest;
  manifest.id = step.id;
  manifest.job = spec.name;
  manifest.seed = spec.seed;
  manifest.consistency = spec.consistency;
  manifest.workers = spec.capacity();
  manifest.clock = step.clock;
  manifest.left = left_out_of_sums(jobs_[index]);
  manifest.parts = step.parts;
  // From ids to places in the manifest's list, of what the parts hold.
  std::map<std::uint32_t, std::uint32_t> at;
  for (auto& part : manifest.parts)
    for (auto& run : part.chunks) {
      const auto [entry, fresh] =
          at.try_emplace(run.table, static_cast<std::uint32_t>(manifest.tables.size()));
      if (fresh) {
        const auto& table = tables_[run.table];
        manifest.tables.push_back({table.spec.name, table.spec.shape,
                                   static_cast<std::uint32_t>(table.grant.places.size())});
      }
      run.table = entry->second;
    }
  return manifest;
}

void coordinator_core::checkpoint_begun(std::int64_t now, const std::string& name,
                                        checkpoint_id id, coordinator_effects& out) {
  auto* job = find(name);
  if (!job || !job->rounds) return;
  job->begun = id;
  record(*job, out);
  checkpoint_effects effects;
  job->rounds->begun(id, effects);
  carry_out(now, static_cast<std::size_t>(job - jobs_.data()), effects, out);
}

void coordinator_core::checkpoint_part(std::int64_t now, const checkpoint_report& report,
                                       coordinator_effects& out) {
  for (std::size_t index = 0; index < jobs_.size(); ++index) {
    auto& job = jobs_[index];
    if (job.token != report.token || !job.rounds) continue;
    checkpoint_effects effects;
    job.rounds->part(report, effects);
    carry_out(now, index, effects, out);
  }
}

void coordinator_core::checkpoint_written(std::int64_t now, const std::string& name,
                                          checkpoint_id id, const runtime::status& result,
                                          coordinator_effects& out) {
  auto* job = find(name);
  if (!job || !job->rounds) return;
  checkpoint_effects effects;
  job->rounds->written(id, result, effects);
  carry_out(now, static_cast<std::size_t>(job - jobs_.data()), effects, out);
}

// It begins with the next report of a worker, as every round does.
void coordinator_core::want_last_checkpoint(const std::string& name) {
  auto* job = find(name);
  if (job && job->rounds) job->rounds->want_last();
}

// What the workers leave is kept before the job counts as done.
void coordinator_core::all_finished(std::int64_t now, std::size_t index,
                                    coordinator_effects& out) {
  auto& job = jobs_[index];
  if (!job.rounds) return done(now, job, out);
  checkpoint_effects effects;
  job.rounds->finished(holders_of(index), effects);
  carry_out(now, index, effects, out);
}

void coordinator_core::done(std::int64_t now, job_record& job, coordinator_effects& out) {
  if (job.state == job_state::done || job.state == job_state::failed) return;
  const bool were_in = all_in();
  job.state = job_state::done;
  job.ended = now;
  record(job, out);
  event(now, "job_done", job.spec.name + " " + job.parameters_sha256);
  std::erase_if(early_workers_, [&](const auto& early) {
    const bool late = early.first.job == job.spec.name && job.workers[early.first.rank].absent;
    if (late) refuse(early.second, errc::cancelled, "job " + job.spec.name + " has ended", out);
    return late;
  });
  begin_without(were_in, now, out);
}

}  // namespace tidegate::policies
