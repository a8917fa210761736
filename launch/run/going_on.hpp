// Where the jobs of a run go on that another one has begun. Any thread; blocks, and reads the
// newest checkpoints.
#pragma once

#include <string>
#include <vector>

#include "policies/model/spec.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::launch {

// Returns a line for each job: "job mlp goes on from checkpoint e0001-00000003, clock 60". The
// coordinator looks as well, and with the same eyes. `run_dir`: empty for a run folder that is
// new. `cancelled`: the names of jobs that stay so. Errors: those of storages and of
// policies::check_fit(); invalid_argument (sums that are in the checkpoint are of other workers
// than the job's).
runtime::expected<std::vector<std::string>> places_of_jobs(
    const policies::cluster_spec& spec, const std::string& run_dir,
    const std::vector<std::string>& cancelled);

}  // namespace tidegate::launch
