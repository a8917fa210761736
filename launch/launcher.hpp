// `tidegate launch`: runs a cluster on this machine from start to end. Main thread only.
#pragma once

#include <string>

#include "launch/command_line.hpp"
#include "launch/run_journal.hpp"
#include "launch/services.hpp"
#include "launch/starter.hpp"
#include "policies/spec.hpp"

namespace tidegate::launch {

struct launch_options {
  std::string run_dir;  // empty: runs/<name>-<time>
};

// Starts coordinator, shards and workers, shows how the jobs go on, ends them all. No process
// is left when it returns, and none when the launcher itself is killed. What went wrong is on
// stderr and in RUN_DIR/result.json.
exit_code launch_cluster(const policies::cluster_spec& spec, const launch_options& options,
                         const services& cluster);

// The run itself, in a folder that is claimed and an epoch that is on record.
exit_code carry_out(const policies::cluster_spec& spec, const services& cluster,
                    const starter& start, run_journal& journal, std::uint32_t epoch);

}  // namespace tidegate::launch
