#include "launch/run/launch_plan.hpp"

#include <algorithm>
#include <map>

#include "launch/plan/plan.hpp"
#include "launch/text/scalars.hpp"
#include "policies/consistency/consistency.hpp"
#include "policies/placement/hosts.hpp"
#include "policies/placement/needed_reach.hpp"
#include "policies/placement/process_names.hpp"
#include "policies/placement/shard_map.hpp"

namespace tidegate::launch {

namespace {

using policies::host_number;
using policies::process_role;

// On the launcher's own machine there is the room of all its hosts; none where it is no host of
// the cluster.
policies::launch_plan::host own_host(const policies::cluster_spec& spec) {
  policies::launch_plan::host own{.name = "of the launcher", .room = 0};
  bool is_first = true;
  for (const auto& host : spec.hosts) {
    if (policies::has_agent(host)) continue;
    if (std::exchange(is_first, false))
      own = {.name = host.name, .room = host.room, .address = host.address};
    else if (own.room)
      own.room = host.room ? std::optional(*own.room + *host.room) : host.room;
  }
  return own;
}

// Those that a cluster begins with, and those that may join it.
std::vector<policies::process_name> all_names(const policies::cluster_spec& spec) {
  auto names = policies::process_names_of(spec);
  const auto of_shards = policies::processes_of(spec.shards, spec.shards, spec.replicas);
  names.insert(names.end(), of_shards.begin(), of_shards.end());
  for (const auto& job : spec.jobs)
    for (std::uint32_t rank = 0; rank < job.capacity(); ++rank)
      names.push_back({.role = process_role::worker, .job = job.name, .index = rank});
  return names;
}

void set_hosts(const policies::cluster_spec& spec, policies::launch_plan& plan) {
  const auto others = policies::agent_hosts(spec);
  if (others.empty()) return;
  plan.hosts.push_back(own_host(spec));
  std::map<std::string, host_number> numbers;
  for (const auto* host : others) {
    numbers[host->name] = static_cast<host_number>(plan.hosts.size());
    plan.hosts.push_back({.name = host->name, .room = host->room, .address = host->address});
  }
  for (const auto& name : all_names(spec)) {
    const auto at = numbers.find(plan_process(spec, name).host);
    plan.homes[name.to_string()] = at == numbers.end() ? 0 : at->second;
  }
  plan.must_reach = policies::needed_reach(
      spec, [&](const auto& name) { return plan.homes.at(name.to_string()); });
}

}  // namespace

std::vector<std::string> own_hosts(const policies::cluster_spec& spec) {
  std::vector<std::string> names;
  for (const auto& host : spec.hosts)
    if (!policies::has_agent(host)) names.push_back(host.name);
  return names;
}

policies::launch_plan launch_plan_of(const policies::cluster_spec& spec, std::uint32_t epoch) {
  policies::launch_plan plan;
  plan.epoch = epoch;
  plan.processes = policies::process_names_of(spec);
  for (const auto& job : spec.jobs) {
    plan.jobs.push_back({.name = job.name,
                         .policy = policies::to_string(job.consistency),
                         .workers = job.workers,
                         .on_worker_loss = job.on_worker_loss,
                         .checkpoints = job.checkpoint.has_value(),
                         .spares = job.spares});
    for (std::uint32_t rank = 0; rank < job.capacity(); ++rank) {
      const auto* host = policies::host_of_worker(spec, job, rank);
      plan.jobs.back().hosts.push_back(host == nullptr ? "" : host->name);
    }
  }
  plan.supervision = spec.supervision;
  plan.replicated = spec.has_chains();
  plan.shards = spec.shards;
  plan.replicas = spec.replicas;
  plan.slots = spec.slots;
  plan.goes_back = std::all_of(spec.jobs.begin(), spec.jobs.end(),
                               [](const auto& job) { return job.checkpoint.has_value(); });
  plan.start_timeout_ms = spec.start_timeout_ms;
  plan.start_timeout_text = format_duration_ms(spec.start_timeout_ms);
  set_hosts(spec, plan);
  return plan;
}

}  // namespace tidegate::launch
