// The folders of a run's checkpoints that outlive its own (jobs.*.checkpoint.path), and this
// launcher's claim on them: policies/checkpoint/claim.hpp. Beside the checkpoints is also what
// whoever has lost the run folder goes on with: cluster.yaml, origin.json. The claim is a lock
// that the kernel lets go of with the process, and the epoch; in a store of objects the epoch
// alone. Movable; one thread; blocks.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "policies/checkpoint/claim.hpp"
#include "policies/model/spec.hpp"
#include "runtime/base/status.hpp"
#include "runtime/base/unique_fd.hpp"

namespace tidegate::launch {

class checkpoint_claims {
 public:
  // No job names a folder.
  checkpoint_claims() = default;
  // Locks FOLDER/JOB of each job that names a folder, which is made where FOLDER is there.
  // `run`: the number that this run has drawn, 16 hex digits. `patience_ms`: as of
  // lock_as_launcher. Errors: not_found,
  // invalid_argument (no folder, or a store says no); io_error, no_space, unavailable; those of
  // policies::check_claim().
  static runtime::expected<checkpoint_claims> open(const policies::cluster_spec& spec,
                                                   policies::claim_wish wish,
                                                   const std::string& run,
                                                   std::uint32_t patience_ms = 0);

  bool is_empty() const noexcept { return folders_.empty(); }
  const std::string& run() const noexcept { return run_; }  // empty: no job names a folder
  // Returns the highest epoch that any of the folders knew when they were claimed; 0: none.
  std::uint32_t last_epoch() const noexcept { return last_epoch_; }
  // Returns the jobs of the run that were cancelled before, by name. Errors: of storages.
  runtime::expected<std::vector<std::string>> cancelled_jobs() const;

  // Claims an epoch in all folders. Errors: refused (another launcher has gone on there); of
  // storages: then another, higher one may be claimed.
  runtime::status record_epoch(std::uint32_t epoch);
  // Puts this run on record in all folders, with a line for people and the files that it is
  // begun with, by name; it has none of those without text. Errors: of storages.
  using named_texts = std::vector<std::pair<std::string, std::string>>;
  runtime::status record_run(const named_texts& files, const std::string& described) const;
  runtime::status record_cancelled(const std::string& job) const;
  // Makes RUN_DIR/checkpoints/JOB a link to FOLDER/JOB, where nothing is there yet: of a store
  // one that leads nowhere, and says the place. Errors: io_error.
  runtime::status link_in(const std::string& run_dir) const;

 private:
  struct claimed_folder {
    std::string job;
    std::string checkpoints;  // FOLDER/JOB
    runtime::unique_fd lock;
    std::uint32_t epoch = 0;  // the last that this launcher has tried to claim
  };
  static runtime::expected<claimed_folder> claim(const policies::job_spec& job,
                                                 policies::claim_wish wish,
                                                 const std::string& run,
                                                 std::uint32_t patience_ms,
                                                 policies::claim_remains& found);

  std::string run_;
  std::uint32_t last_epoch_ = 0;
  std::vector<claimed_folder> folders_;
};

}  // namespace tidegate::launch
