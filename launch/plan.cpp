#include "launch/plan.hpp"

#include "launch/words.hpp"
#include "policies/aggregation.hpp"
#include "policies/hosts.hpp"
#include "policies/placement.hpp"
#include "policies/shard_slots.hpp"
#include "runtime/base/limits.hpp"

namespace tidegate::launch {

namespace {

std::vector<process_plan> plan_processes(const policies::cluster_spec& spec) {
  std::vector<process_plan> all;
  const auto add = [&](process_role role, const std::string& job, std::uint32_t index,
                       const policies::host_spec* host, std::vector<std::string> command) {
    auto& p = all.emplace_back();
    if (host != nullptr) p.host = host->name;
    p.name.role = role;
    p.name.job = job;
    p.name.index = index;
    p.command = std::move(command);
  };
  add(process_role::coordinator, {}, 0, policies::host_of_coordinator(spec),
      {"tidegate", "node", "coordinator"});
  const auto slots = spec.slots > 0 ? spec.slots : spec.shards;
  for (const auto& name : policies::processes_of(slots, spec.shards, spec.replicas))
    all.push_back(plan_shard(spec, name.role, name.index));
  for (const auto& job : spec.jobs) {
    const auto sums = policies::plan_aggregation(spec, job).aggregators;
    for (std::uint32_t i = 0; i < sums.size(); ++i) {
      add(process_role::aggregator, job.name, i,
          policies::host_of_aggregator(spec, job, sums[i]),
          {"tidegate", "node", "aggregator", "--job=" + job.name, "--index",
           std::to_string(i)});
    }
  }
  for (const auto& job : spec.jobs) {
    for (std::uint32_t rank = 0; rank < job.workers; ++rank) {
      all.push_back(plan_worker(spec, job, rank));
    }
  }
  return all;
}

job_plan plan_job(const policies::job_spec& job, const policies::aggregation& sums,
                  policies::placement& places, std::vector<shard_plan>& shards) {
  job_plan plan{job.name,
                policy_text(job.consistency),
                job.workers,
                static_cast<std::uint32_t>(sums.aggregators.size()),
                {}};
  std::vector<std::uint64_t> sizes;
  for (const auto& t : job.tables) sizes.push_back(t.size());
  const auto placed = places.add(sizes);
  const auto copies_in_flight =
      std::uint64_t{runtime::limits::clocks_in_flight_max} * sums.top.size();
  for (std::size_t i = 0; i < placed.size(); ++i) {
    const auto& t = job.tables[i];
    table_plan table{t.name,           t.size(), t.size() * sizeof(float),
                     placed[i].size(), {},       t.optimizer.kind};
    table.chunks_per_shard.resize(shards.size());
    for (const auto& chunk : placed[i]) {
      const auto bytes = chunk.elements * sizeof(float);
      auto& shard = shards[chunk.shard];
      ++table.chunks_per_shard[chunk.shard];
      ++shard.chunks;
      shard.parameter_bytes += bytes;
      shard.state_bytes += bytes * state_arrays(t.optimizer.kind);
      shard.receive_bytes_max += bytes * copies_in_flight;
    }
    plan.tables.push_back(std::move(table));
  }
  return plan;
}

}  // namespace

std::string policy_text(const policies::consistency_spec& policy) {
  std::string text(word(policy_words, policy.kind));
  if (policy.kind == policies::consistency_kind::ssp) {
    text += "(" + std::to_string(policy.staleness) + ")";
  }
  return text;
}

process_plan plan_shard(const policies::cluster_spec& spec, process_role role,
                        std::uint32_t index) {
  const bool first = role == process_role::shard;
  process_plan made;
  made.name = {role, {}, index};
  const auto* host =
      first ? policies::host_of_shard(spec, index) : policies::host_of_replica(spec, index);
  if (host != nullptr) made.host = host->name;
  made.command = {"tidegate", "node", first ? "shard" : "replica", "--index",
                  std::to_string(index)};
  return made;
}

process_plan plan_worker(const policies::cluster_spec& spec, const policies::job_spec& job,
                         std::uint32_t rank) {
  process_plan made;
  made.name = {process_role::worker, job.name, rank};
  if (const auto* host = policies::host_of_worker(spec, job, rank)) made.host = host->name;
  made.command = job.command;
  return made;
}

cluster_plan make_plan(const policies::cluster_spec& spec) {
  cluster_plan plan;
  plan.cluster = spec.name;
  plan.chunk_bytes = spec.chunk_bytes;
  plan.parts_move = spec.slots > 0;
  plan.processes = plan_processes(spec);
  plan.shards.resize(spec.shards);
  policies::placement places(spec.shards, spec.chunk_bytes);
  for (const auto& job : spec.jobs)
    plan.jobs.push_back(
        plan_job(job, policies::plan_aggregation(spec, job), places, plan.shards));
  plan.needs = policies::process_needs_of(spec);
  plan.memory = policies::memory_needs_of(spec);
  return plan;
}

}  // namespace tidegate::launch
