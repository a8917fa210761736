#include "launch/plan/plan.hpp"

#include <algorithm>

#include "launch/plan/agent_command.hpp"
#include "policies/checkpoint/name.hpp"
#include "policies/consistency/consistency.hpp"
#include "policies/placement/aggregation_tree.hpp"
#include "policies/placement/hosts.hpp"
#include "policies/placement/placement.hpp"
#include "policies/placement/process_names.hpp"
#include "runtime/base/limits.hpp"

namespace tidegate::launch {

namespace {

host_plan plan_host(const policies::cluster_spec& spec, const policies::host_spec& host) {
  host_plan planned{
      .name = host.name, .address = host.address, .rails = host.rails, .agent = {}};
  if (policies::has_agent(host)) planned.agent = agent_command(spec, host, "tidegate");
  return planned;
}

process_plan plan_coordinator(const policies::cluster_spec& spec, const process_name& name) {
  process_plan planned;
  planned.name = name;
  planned.command = {"tidegate", "node", "coordinator"};
  if (const auto* host = policies::host_of_coordinator(spec)) planned.host = host->name;
  return planned;
}

process_plan plan_aggregator(const policies::cluster_spec& spec, const policies::job_spec& job,
                             const policies::aggregation& sums, const process_name& name) {
  process_plan planned;
  planned.name = name;
  planned.command = {"tidegate",          "node",    "aggregator",
                     "--job=" + job.name, "--index", std::to_string(name.index)};
  const auto* host = policies::host_of_aggregator(spec, job, sums.aggregators[name.index]);
  if (host != nullptr) planned.host = host->name;
  return planned;
}

// `sums`: of each job, in the order of the spec.
process_plan plan_process(const policies::cluster_spec& spec,
                          const std::vector<policies::aggregation>& sums,
                          const process_name& name) {
  const auto job = std::find_if(spec.jobs.begin(), spec.jobs.end(), [&](const auto& candidate) {
    return candidate.name == name.job;
  });
  switch (name.role) {
    case process_role::coordinator:
      return plan_coordinator(spec, name);
    case process_role::shard:
    case process_role::replica:
      return plan_shard(spec, name.role, name.index);
    case process_role::aggregator:
      return plan_aggregator(spec, *job,
                             sums[static_cast<std::size_t>(job - spec.jobs.begin())], name);
    case process_role::worker:
      break;
  }
  return plan_worker(spec, *job, name.index);
}

job_plan plan_job(const policies::job_spec& job, const policies::aggregation& sums,
                  policies::placement& places, std::vector<shard_plan>& shards) {
  job_plan plan{.name = job.name,
                .policy = policies::to_string(job.consistency),
                .workers = job.workers,
                .aggregators = static_cast<std::uint32_t>(sums.aggregators.size()),
                .tables = {},
                .checkpoints = policies::named_folder(job)};
  const auto placed = places.add(job.tables);
  const auto copies_in_flight =
      std::uint64_t{runtime::limits::clocks_in_flight_max} * sums.top.size();
  for (std::size_t i = 0; i < placed.size(); ++i) {
    const auto& t = job.tables[i];
    table_plan table{.name = t.name,
                     .elements = t.size(),
                     .bytes = t.has_rows() ? 0 : t.size() * sizeof(float),
                     .row_dim = t.rows.dim,
                     .row_memory = t.rows.memory,
                     .chunks = placed[i].size(),
                     .chunks_per_shard = {},
                     .optimizers = {}};
    if (t.rows.segments.empty()) table.optimizers.push_back(t.optimizer.kind);
    for (const auto& segment : t.rows.segments)
      table.optimizers.push_back(segment.optimizer.kind);
    table.chunks_per_shard.resize(shards.size());
    for (const auto& chunk : placed[i]) {
      // Rows take memory as they are made: nobody knows how many.
      const auto bytes = t.has_rows() ? 0 : chunk.elements * sizeof(float);
      auto& shard = shards[chunk.shard];
      ++table.chunks_per_shard[chunk.shard];
      ++shard.chunks;
      shard.parameter_bytes += bytes;
      shard.state_bytes += bytes * policies::state_arrays(t.optimizer);
      shard.receive_bytes_max += bytes * copies_in_flight;
    }
    plan.tables.push_back(std::move(table));
  }
  return plan;
}

}  // namespace

process_plan plan_process(const policies::cluster_spec& spec, const process_name& name) {
  std::vector<policies::aggregation> sums;  // only aggregators are planned by them
  if (name.role == process_role::aggregator)
    for (const auto& job : spec.jobs) sums.push_back(policies::plan_aggregation(spec, job));
  return plan_process(spec, sums, name);
}

process_plan plan_shard(const policies::cluster_spec& spec, process_role role,
                        std::uint32_t index) {
  const bool first = role == process_role::shard;
  process_plan plan;
  plan.name = {.role = role, .job = {}, .index = index};
  const auto* host =
      first ? policies::host_of_shard(spec, index) : policies::host_of_replica(spec, index);
  if (host != nullptr) plan.host = host->name;
  plan.command = {"tidegate", "node", first ? "shard" : "replica", "--index",
                  std::to_string(index)};
  return plan;
}

process_plan plan_worker(const policies::cluster_spec& spec, const policies::job_spec& job,
                         std::uint32_t rank) {
  process_plan plan;
  plan.name = {.role = process_role::worker, .job = job.name, .index = rank};
  if (const auto* host = policies::host_of_worker(spec, job, rank)) plan.host = host->name;
  plan.command = job.command;
  return plan;
}

cluster_plan make_plan(const policies::cluster_spec& spec) {
  cluster_plan plan;
  plan.cluster = spec.name;
  plan.chunk_bytes = spec.chunk_bytes;
  plan.device = spec.device;
  plan.parts_move = spec.slots > 0;
  for (const auto& host : spec.hosts) plan.hosts.push_back(plan_host(spec, host));
  std::vector<policies::aggregation> sums;
  for (const auto& job : spec.jobs) sums.push_back(policies::plan_aggregation(spec, job));
  for (const auto& name : policies::process_names_of(spec))
    plan.processes.push_back(plan_process(spec, sums, name));
  plan.shards.resize(spec.shards);
  policies::placement places(spec.shards, spec.chunk_bytes);
  for (std::size_t i = 0; i < spec.jobs.size(); ++i)
    plan.jobs.push_back(plan_job(spec.jobs[i], sums[i], places, plan.shards));
  plan.needs = policies::process_needs_of(spec);
  plan.memory = policies::memory_needs_of(spec);
  return plan;
}

}  // namespace tidegate::launch
