// The coordinator's hand on the folders of checkpoints: what a run goes on from, names of new
// ones, their manifests. One thread; blocks while it reads or writes, and reads all of the
// newest checkpoints when it is opened for a run that begins.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "policies/checkpoint/catalog.hpp"
#include "policies/coordinator/core.hpp"
#include "runtime/storage/posix_storage.hpp"

namespace tidegate::actors {

class checkpoint_keeper {
 public:
  // Of the jobs that have checkpoints, in RUN_DIR/checkpoints/JOB, which is made, or in the
  // folder that the job names, which the launcher has claimed. `begins`: found() is wanted; one
  // that takes the place of another knows it by its journal. Errors: those of storages and of
  // check_fit(); refused (another launcher has claimed a job's folder since).
  static runtime::expected<checkpoint_keeper> open(const policies::cluster_spec& cluster,
                                                   const std::string& run_dir,
                                                   std::uint32_t epoch, bool begins);
  // No job has any.
  checkpoint_keeper() = default;

  const policies::restored_cluster& found() const noexcept { return found_; }
  // The next one of a job has a higher number than this.
  void begin_after(const std::string& job, policies::checkpoint_id id);
  policies::checkpoint_id begin(const std::string& job);
  // Errors: those of the storage; refused, as in open().
  runtime::status write(const policies::coordinator_effects::write_manifest& manifest);

 private:
  struct folder {
    std::unique_ptr<runtime::posix_storage> storage;
    std::unique_ptr<policies::checkpoint_catalog> catalog;
    std::string claimed;  // its path, where the job names it

    runtime::status check_epoch(std::uint32_t epoch) const;
  };
  runtime::status look(const policies::job_spec& job, const std::string& run_dir, bool begins);
  runtime::status find(const policies::job_spec& job, policies::checkpoint_catalog& in);

  std::map<std::string, folder> folders_;  // by job
  policies::restored_cluster found_;
};

}  // namespace tidegate::actors
