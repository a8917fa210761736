// A cluster that is launched to be measured from inside its workers: a folder of its own, and
// nothing of either when all is done. Main thread only.
#pragma once

#include <string>
#include <vector>

#include "launch/bench/arena.hpp"
#include "launch/bench/options.hpp"
#include "policies/model/spec.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::bench {

// Made at once and removed with the object, with all that is in it.
class temporary_folder {
 public:
  temporary_folder();
  ~temporary_folder();
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;

  // Errors: io_error (it could not be made).
  runtime::status check() const;
  std::string path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// Returns the cores that --pin names, none for "none".
std::vector<int> cpus_of_pin(const std::string& pin);
// Where a cluster is to be measured: a folder, cores, and this program, whose workers it runs.
class run_place {
 public:
  // `pin`: as cpus_of_pin(). Errors: io_error, invalid_argument (a core), not_found.
  runtime::status prepare(const std::string& pin);

  const temporary_folder& folder() const noexcept { return folder_; }
  const std::vector<int>& cpus() const noexcept { return cpus_; }
  const std::string& program() const noexcept { return program_; }

 private:
  temporary_folder folder_;
  std::vector<int> cpus_;
  std::string program_;
};

// Returns the cluster that the options describe, with one job of workers of this command, under
// BSP. Gradients are summed.
policies::cluster_spec measured_cluster(const bench_options& options,
                                        const std::vector<std::string>& command);

// Launches the cluster with `run` in the folder as its run folder, and returns when all its
// processes have ended. Errors: corrupt (what a rank wrote into the arena), cancelled (a signal
// came), timed_out, unavailable with the end of the log.
runtime::status run_cluster(const run_place& where, const policies::cluster_spec& spec,
                            const arena& shared);

}  // namespace tidegate::bench
