// A job as result.json and `tidegate status --json` have it. Pure, any thread.
#pragma once

#include <nlohmann/json.hpp>

#include "policies/model/cluster_status.hpp"

namespace tidegate::launch {

// Null of a number that JSON cannot hold.
nlohmann::ordered_json finite_json(double value);

// What was not reported, and numbers that JSON cannot hold (NaN), are null.
nlohmann::ordered_json job_json(const policies::job_status& job);

}  // namespace tidegate::launch
