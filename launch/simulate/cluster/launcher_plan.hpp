// What a simulated launcher is to start. Pure.
#pragma once

#include <cstdint>

#include "launch/simulate/cluster/plan.hpp"
#include "policies/launcher/plan.hpp"

namespace tidegate::sim {

class disk_view;

// Which of its hosts a cluster places this worker on.
std::uint32_t host_of_worker(const policies::cluster_spec& spec, const policies::job_spec& job,
                             std::uint32_t rank);

// `folder`: of the run.
policies::launch_plan plan_of(const cluster_plan& of, std::uint32_t epoch, disk_view& folder);

}  // namespace tidegate::sim
