// `tidegate launch`: runs a cluster on this machine from start to end. Main thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "launch/config/read_spec.hpp"
#include "launch/run/metrics_export.hpp"
#include "launch/run/run_journal.hpp"
#include "launch/run/run_programs.hpp"
#include "launch/run/services.hpp"
#include "launch/text/exit_code.hpp"
#include "policies/model/spec.hpp"

namespace tidegate::launch {

struct launch_options {
  std::string run_dir;       // empty: runs/<name>-<time>
  bool follow = false;       // show what workers write
  std::string run_dir_file;  // gets the run folder's absolute path; empty: none does
  // The cluster file as it was before its engine had named the hosts, as YAML; empty: no engine
  // has. Whoever resumes the run begins with it, as the hosts may be others then.
  std::string before_engine = {};
  // Jobs go on from the checkpoints in the folders that they name (jobs.*.checkpoint.path),
  // whichever run has written them.
  bool goes_on = false;
  // How long to wait for what other systems start late: patience.hpp.
  std::uint32_t patience_ms = 0;
  std::string trace = {};  // run_outlets::trace
};

// Returns what a launch that fails so before anything is started exits with.
exit_code code_of(const runtime::status& why);

// Errors: over_limit (its declared tables may take more memory than there is); none where the
// file has cluster.memory_check: ignore.
runtime::status check_memory_of_this_machine(const policies::cluster_spec& spec);
// Errors: those of devices::check_device(), where shards run on this machine.
runtime::status check_device_of_this_machine(const policies::cluster_spec& spec);

// Errors: those of function_library::add_plugin() and plugin_rules::check(), where everything
// runs on this machine. Loads the cluster's plugins.
runtime::status check_plugins_of_this_machine(const policies::cluster_spec& spec);

// Starts coordinator, shards and workers, shows how the jobs go on, ends them all. No process
// is left when it returns, and none when the launcher itself is killed. What went wrong is on
// stderr and in RUN_DIR/result.json.
exit_code launch_cluster(const cluster_file& file, const launch_options& options,
                         const services& cluster);

// The run itself, in a folder that is claimed and an epoch that is on record. `follow`: as in
// launch_options.
exit_code carry_out(const policies::cluster_spec& spec, const services& cluster,
                    const run_programs& programs, run_journal& journal, std::uint32_t epoch,
                    bool follow, run_outlets outlets);

}  // namespace tidegate::launch
