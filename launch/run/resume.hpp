// `tidegate launch --resume RUN_DIR`: a run whose launcher was killed, or that failed, goes on.
// Main thread only.
#pragma once

#include <cstdint>
#include <string>

#include "launch/run/services.hpp"
#include "launch/text/exit_code.hpp"
#include "policies/model/spec.hpp"

namespace tidegate::launch {

struct resume_options {
  bool follow = false;            // as in launch_options
  std::uint32_t patience_ms = 0;  // likewise
  std::string trace = {};         // likewise
};

// As launch_cluster, with the cluster file that the run began with and in the folder that it
// was begun from, which becomes the current one. Jobs that have a whole checkpoint go on from
// there, the others from the beginning. bad_usage: the folder is not of a run, or a launcher
// of the run lives. done, with no process started: the run is done already.
exit_code resume_cluster(const std::string& run_dir, const services& cluster,
                         const resume_options& options);

// Returns true if a checkpoint of this job has a manifest, which is written last.
bool has_checkpoint(const policies::job_spec& job, const std::string& run_dir);

}  // namespace tidegate::launch
