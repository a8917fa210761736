#include "policies/coordinator/checkpointing.hpp"

#include <algorithm>
#include <utility>

#include "policies/coordinator/state.hpp"
#include "policies/model/spec.hpp"

namespace tidegate::policies::coordination {

namespace {

// Under bsp a cut has whole clocks; a rank that pushes to shards has a clock of its own there.
std::vector<std::uint32_t> left_out_of_sums(const job_record& job) {
  std::vector<std::uint32_t> ranks;
  if (traits_of(job.spec.consistency.kind).has_exact_versions) return ranks;
  for (std::uint32_t rank = 0; rank < job.workers.size(); ++rank)
    if (job.workers[rank].left && job.sums.of_worker[rank] != no_aggregator)
      ranks.push_back(rank);
  return ranks;
}

}  // namespace

void checkpointing::advanced(std::int64_t now, job_record& job, std::uint64_t clock,
                             coordinator_effects& out) {
  if (!job.rounds) return;
  const bool is_due = job.rounds->advanced(now, clock);
  if (job.rounds->is_overdue(now)) job.round_times.turns_late(now);
  if (!is_due) return;
  checkpoint_effects effects;
  const auto index = state_.jobs.index_of(job);
  job.rounds->begin(now, state_.tables.holders_of(index), effects);
  carry_out(now, index, effects, out);
}

void checkpointing::finished(std::int64_t now, job_record& job, coordinator_effects& out) {
  checkpoint_effects effects;
  const auto index = state_.jobs.index_of(job);
  job.rounds->finished(state_.tables.holders_of(index), effects);
  carry_out(now, index, effects, out);
  job.round_times.turns_late(now);
}

bool checkpointing::answered(std::int64_t now, call_id call, const runtime::status& result,
                             std::uint64_t answer, coordinator_effects& out) {
  const auto part = asked_.find(call);
  if (part == asked_.end()) return false;
  const auto asked = part->second;
  asked_.erase(part);
  checkpoint_effects effects;
  if (auto& rounds = state_.jobs[asked.job].rounds)
    rounds->answered(asked.shard, asked.id, result, answer, effects);
  carry_out(now, asked.job, effects, out);
  return true;
}

void checkpointing::carry_out(std::int64_t now, std::size_t index,
                              const checkpoint_effects& effects, coordinator_effects& out) {
  auto& job = state_.jobs[index];
  for (const auto& effect : effects.list) {
    if (const auto* begin = std::get_if<checkpoint_effects::begin>(&effect)) {
      job.round_times.begins(now, begin->final);
      out.checkpoints.push_back({job.spec.name});
    } else if (const auto* ask = std::get_if<checkpoint_effects::ask>(&effect)) {
      const auto id = state_.calls.next_id();
      asked_[id] = {.job = index, .shard = ask->shard, .id = ask->id};
      out.calls.push_back({ask->shard, id,
                           checkpoint_call{.token = job.token,
                                           .id = ask->id,
                                           .clock = ask->clock,
                                           .tables = state_.tables.opened_tables(index),
                                           .base = ask->base},
                           "", state_.replicas.primary_of(ask->shard).member});
    } else if (const auto* write = std::get_if<checkpoint_effects::write>(&effect)) {
      job.round_times.manifest_begins(now);
      out.manifests.push_back({manifest_of(index, *write), job.spec.checkpoint->keep});
    } else if (const auto* ended = std::get_if<checkpoint_effects::ended>(&effect)) {
      round_ended(now, job, *ended, out);
    }
  }
}

void checkpointing::round_ended(std::int64_t now, job_record& job,
                                const checkpoint_effects::ended& ended,
                                coordinator_effects& out) {
  const auto name = job.spec.name + " " + to_string(ended.id);
  if (!ended.result.ok()) {
    state_.events.add(
        now, "checkpoint_given_up", name + ": " + ended.result.to_string(),
        {.job = job.spec.name, .clock = ended.clock, .cause = ended.result.to_string()});
  } else if (ended.id.number > 0) {
    job.round_times.ended(now, ended.clock);
    ++job.checkpoints;
    job.checkpoint_clock = ended.clock;
    record(job, out);
    state_.events.add(now, "checkpoint", name + " clock " + std::to_string(ended.clock),
                      {.job = job.spec.name, .clock = ended.clock});
  }
  if (ended.final) state_.lifecycle.done(now, job, out);
}

checkpoint_manifest checkpointing::manifest_of(std::size_t index,
                                               const checkpoint_effects::write& step) const {
  const auto& spec = state_.jobs[index].spec;
  checkpoint_manifest manifest;
  manifest.id = step.id;
  manifest.job = spec.name;
  manifest.seed = spec.seed;
  manifest.consistency = spec.consistency;
  manifest.workers = spec.capacity();
  manifest.clock = step.clock;
  manifest.left = left_out_of_sums(state_.jobs[index]);
  manifest.parts = step.parts;
  manifest.base = step.base;
  // From ids to places in the manifest's list, of what the parts hold.
  std::map<std::uint32_t, std::uint32_t> at;
  for (auto& part : manifest.parts)
    for (auto& run : part.chunks) {
      const auto [entry, fresh] =
          at.try_emplace(run.table, static_cast<std::uint32_t>(manifest.tables.size()));
      if (fresh) {
        const auto& table = state_.tables[run.table];
        manifest.tables.push_back({table.spec.name, table.spec.shape,
                                   static_cast<std::uint32_t>(table.grant.places.size())});
      }
      run.table = entry->second;
    }
  return manifest;
}

void checkpointing::begun(std::int64_t now, const std::string& name, checkpoint_id id,
                          coordinator_effects& out) {
  auto* job = state_.jobs.find(name);
  if (!job || !job->rounds) return;
  job->begun = id;
  record(*job, out);
  checkpoint_effects effects;
  job->rounds->begun(id, effects);
  carry_out(now, state_.jobs.index_of(*job), effects, out);
}

void checkpointing::part(std::int64_t now, const checkpoint_report& report,
                         coordinator_effects& out) {
  for (std::size_t index = 0; index < state_.jobs.size(); ++index) {
    auto& job = state_.jobs[index];
    if (job.token != report.token || !job.rounds) continue;
    checkpoint_effects effects;
    if (job.rounds->part(report, effects))
      job.round_times.part(report.shard, report.took_ns, report.file.bytes);
    carry_out(now, index, effects, out);
  }
}

void checkpointing::written(std::int64_t now, const std::string& name, checkpoint_id id,
                            const runtime::status& result, coordinator_effects& out) {
  auto* job = state_.jobs.find(name);
  if (!job || !job->rounds) return;
  checkpoint_effects effects;
  job->rounds->written(id, result, effects);
  carry_out(now, state_.jobs.index_of(*job), effects, out);
  // Its workers may have finished meanwhile.
  if (job->at_end && !job->has_ended()) state_.lifecycle.maybe_ended(now, *job, out);
}

// It begins with the next report of a worker, as every round does.
void checkpointing::want_last(const std::string& name) {
  auto* job = state_.jobs.find(name);
  if (job && job->rounds) job->rounds->want_last();
}

// Checkpoints that another process was to write a part of.
void checkpointing::forget_parts(std::int64_t now, std::uint32_t shard,
                                 coordinator_effects& out) {
  for (std::size_t index = 0; index < state_.jobs.size(); ++index) {
    auto& rounds = state_.jobs[index].rounds;
    if (!rounds) continue;
    std::erase_if(asked_, [&](const auto& entry) {
      return entry.second.job == index && entry.second.shard == shard;
    });
    checkpoint_effects effects;
    rounds->shard_moved(shard, effects);
    carry_out(now, index, effects, out);
  }
}

checkpoint_id checkpointing::last(const std::string& name) const {
  const auto* job = state_.jobs.find(name);
  return job ? job->begun : checkpoint_id();
}

}  // namespace tidegate::policies::coordination
