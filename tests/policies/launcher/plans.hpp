// What launchers of tests are to start: a coordinator, one shard, and the jobs that a test
// names.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "policies/launcher/plan.hpp"

namespace tidegate::policies::tests {

inline launch_plan plan_of(const std::vector<std::pair<std::string, std::uint32_t>>& jobs,
                           bool workers_come_back) {
  launch_plan plan;
  plan.supervision.worker = {.max_restarts = 2,
                             .within_ms = 60'000,
                             .backoff_first_ms = 100,
                             .backoff_last_ms = 5'000};
  plan.processes = {{.role = process_role::coordinator, .job = "", .index = 0},
                    {.role = process_role::shard, .job = "", .index = 0}};
  for (const auto& [name, workers] : jobs) {
    plan.jobs.push_back({name, "bsp", workers,
                         workers_come_back ? worker_loss_rule::restart : worker_loss_rule::fail,
                         false});
    for (std::uint32_t i = 0; i < workers; ++i)
      plan.processes.push_back({process_role::worker, name, i});
  }
  return plan;
}

// Workers of the one job are at home on these hosts; the rest on the first.
inline launch_plan plan_on_hosts(std::vector<launch_plan::host> hosts,
                                 const std::vector<host_number>& homes,
                                 bool workers_come_back) {
  auto plan = plan_of({{"mlp", static_cast<std::uint32_t>(homes.size())}}, workers_come_back);
  plan.hosts = std::move(hosts);
  for (std::uint32_t rank = 0; rank < homes.size(); ++rank)
    plan.homes["worker-mlp-" + std::to_string(rank)] = homes[rank];
  return plan;
}

inline launch_plan plan_with_moving_shards(bool goes_back) {
  auto plan = plan_of({{"mlp", 1}}, true);
  plan.replicated = true;
  plan.goes_back = goes_back;
  plan.shards = 4;
  plan.replicas = 1;
  plan.slots = 1;
  plan.supervision.shard = {.max_restarts = 2,
                            .within_ms = 60'000,
                            .backoff_first_ms = 100,
                            .backoff_last_ms = 5'000};
  plan.processes.push_back({process_role::replica, "", 0});
  return plan;
}

inline launch_plan plan_with_aggregator() {
  auto plan = plan_of({{"mlp", 1}}, true);
  plan.goes_back = true;
  plan.supervision.aggregator = {.max_restarts = 1,
                                 .within_ms = 60'000,
                                 .backoff_first_ms = 100,
                                 .backoff_last_ms = 5'000};
  plan.processes.push_back({process_role::aggregator, "mlp", 0});
  return plan;
}

}  // namespace tidegate::policies::tests
