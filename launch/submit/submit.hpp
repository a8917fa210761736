// `tidegate submit`: gives a cluster file to Slurm as a batch job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launch/text/exit_code.hpp"

namespace tidegate::launch {

struct submit_options {
  std::string file;               // the cluster file
  std::vector<std::string> sets;  // --set
  std::string run_dir;            // empty: runs/NAME-YYYYmmdd-HHMMSS
  std::uint32_t nodes = 0;        // 0: as many as cluster.hosts has
  std::string time;               // of the job; empty: the partition's limit
  std::vector<std::string> sbatch_options;
  bool dry_run = false;  // prints the script, and submits nothing
};

// Writes RUN_DIR.sbatch, has `sbatch` take it, and says what came of it on stdout and stderr.
// Main thread; blocks for sbatch.
exit_code submit_to_slurm(const submit_options& options);

}  // namespace tidegate::launch
