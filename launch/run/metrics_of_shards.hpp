// Metrics of shards and of their replicas. Pure, any thread.
#pragma once

#include <vector>

#include "launch/run/metric_family.hpp"

namespace tidegate::launch {

std::vector<metric_family> metrics_of_shards();

}  // namespace tidegate::launch
