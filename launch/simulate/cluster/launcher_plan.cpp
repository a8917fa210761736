#include "launch/simulate/cluster/launcher_plan.hpp"

#include <algorithm>

#include "launch/simulate/cluster/disk.hpp"
#include "launch/simulate/cluster/host_processes.hpp"
#include "policies/checkpoint/cancelled_jobs.hpp"
#include "policies/consistency/consistency.hpp"
#include "policies/placement/aggregation_tree.hpp"
#include "policies/placement/needed_reach.hpp"
#include "policies/placement/shard_map.hpp"

namespace tidegate::sim {

using policies::process_role;

namespace {

// All hosts have agents, and any process that there may be has a home.
void set_hosts(const cluster_plan& of, policies::launch_plan& plan) {
  const auto& spec = of.spec;
  for (std::uint32_t host = 0; host < spec.hosts.size(); ++host)
    plan.hosts.push_back({.name = "h" + std::to_string(host),
                          .room = of.room.empty() ? std::nullopt : of.room[host],
                          .address = spec.hosts[host].address});
  auto names = plan.processes;
  const auto of_shards = policies::processes_of(spec.shards, spec.shards, spec.replicas);
  names.insert(names.end(), of_shards.begin(), of_shards.end());
  for (const auto& job : spec.jobs)
    for (std::uint32_t rank = 0; rank < job.capacity(); ++rank)
      names.push_back({process_role::worker, job.name, rank});
  for (const auto& name : names) plan.homes[name.to_string()] = home_of(spec, name);
  plan.must_reach = policies::needed_reach(
      spec, [&](const policies::process_name& name) { return home_of(spec, name); });
}

}  // namespace

policies::launch_plan plan_of(const cluster_plan& of, std::uint32_t epoch, disk_view& folder) {
  const auto& spec = of.spec;
  policies::launch_plan plan;
  plan.epoch = epoch;
  plan.cancelled = policies::cancelled_jobs(folder).value_or(std::vector<std::string>());
  plan.goes_back = std::all_of(spec.jobs.begin(), spec.jobs.end(),
                               [](const auto& job) { return job.checkpoint.has_value(); });
  plan.processes.push_back({process_role::coordinator, "", 0});
  const auto slots = spec.slots > 0 ? spec.slots : spec.shards;
  const auto of_shards = policies::processes_of(slots, spec.shards, spec.replicas);
  plan.processes.insert(plan.processes.end(), of_shards.begin(), of_shards.end());
  plan.replicated = spec.has_chains();
  plan.shards = spec.shards;
  plan.replicas = spec.replicas;
  plan.slots = spec.slots;
  for (const auto& job : spec.jobs) {
    const auto sums = policies::plan_aggregation(spec, job);
    for (std::uint32_t i = 0; i < sums.aggregators.size(); ++i)
      plan.processes.push_back({process_role::aggregator, job.name, i});
    for (std::uint32_t rank = 0; rank < job.workers; ++rank)
      plan.processes.push_back({process_role::worker, job.name, rank});
    plan.jobs.push_back({.name = job.name,
                         .policy = to_string(job.consistency),
                         .workers = job.workers,
                         .on_worker_loss = job.on_worker_loss,
                         .checkpoints = false,
                         .spares = job.spares});
    for (std::uint32_t rank = 0; rank < job.capacity(); ++rank)
      plan.jobs.back().hosts.push_back("h" + std::to_string(host_of_worker(spec, job, rank)));
  }
  plan.supervision = spec.supervision;
  if (of.has_agents) set_hosts(of, plan);
  return plan;
}

std::uint32_t host_of_worker(const policies::cluster_spec& spec, const policies::job_spec& job,
                             std::uint32_t rank) {
  const auto hosts = static_cast<std::uint32_t>(std::max<std::size_t>(1, spec.hosts.size()));
  return rank % job.workers * hosts / job.workers;
}

}  // namespace tidegate::sim
