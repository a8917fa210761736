// The batch script by which Slurm runs a cluster file on the nodes of a job. Pure, any thread.
//
// The job's time limit costs no work: some time before it Slurm sends a signal to the script,
// the launcher writes a last checkpoint and ends, and the job is put back into Slurm's queue,
// if there is a checkpoint that was not there before. When it begins anew, the script goes on
// with the run that there is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tidegate::launch {

struct slurm_job {
  std::string name;
  std::string program;            // of tidegate, absolute
  std::string file;               // the cluster file, absolute
  std::string run_dir;            // absolute, on a file system that all nodes see
  std::vector<std::string> sets;  // --set of the launcher
  std::uint32_t nodes = 1;
  std::vector<std::string> hosts;  // by name, that have to be among them
  std::string time;                // as sbatch's --time; empty: the partition's limit
  std::uint32_t save_seconds = 0;  // before the limit: a last checkpoint takes no longer
  // FOLDER/JOB of jobs that name a folder, which is there where the run folder is not.
  std::vector<std::string> checkpoint_folders = {};
  // Further words of sbatch: "--partition=gpu".
  std::vector<std::string> options;
};

// Returns the script, for `sbatch`.
std::string slurm_script(const slurm_job& job);

}  // namespace tidegate::launch
