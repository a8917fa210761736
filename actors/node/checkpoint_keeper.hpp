// The coordinator's hand on the folders of checkpoints: what a run goes on from, names of new
// ones, their manifests. Blocks, and reads the newest checkpoints, when it is opened. One
// thread, but for manifests: a new_manifest is written on any, one at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "policies/checkpoint/catalog.hpp"
#include "policies/coordinator/core.hpp"
#include "runtime/objects/open_storage.hpp"

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

 private:
  struct folder {
    runtime::storage_pointer storage;  // of whoever writes, once open
    std::unique_ptr<policies::checkpoint_catalog> catalog;
    std::string claimed;  // its path, where the job names it

    runtime::status check_epoch(std::uint32_t epoch) const;
  };

 public:
  // A manifest on its way. The keeper outlives it.
  class new_manifest {
   public:
    // Errors: those of the storage; refused, as in open().
    runtime::status write() const;
    // Removes what is needless when it has been written.
    void tidy();

   private:
    friend class checkpoint_keeper;
    new_manifest(folder& home, policies::coordinator_effects::write_manifest of,
                 std::uint32_t epoch)
        : home_(home), of_(std::move(of)), epoch_(epoch), catalog_(*home.catalog) {}

    folder& home_;
    policies::coordinator_effects::write_manifest of_;
    std::uint32_t epoch_;
    policies::checkpoint_catalog catalog_;  // a copy: the next one may begin meanwhile
  };
  // Errors: cancelled (another one has begun since).
  runtime::expected<std::shared_ptr<new_manifest>> prepare(
      const policies::coordinator_effects::write_manifest& manifest);
  // Takes in that it has been written.
  void written(const new_manifest& manifest);

 private:
  runtime::status look(const policies::job_spec& job, const std::string& run_dir, bool begins);
  runtime::status find(const policies::job_spec& job, policies::checkpoint_catalog& in);

  std::map<std::string, folder> folders_;  // by job
  policies::restored_cluster found_;
};

}  // namespace tidegate::actors
