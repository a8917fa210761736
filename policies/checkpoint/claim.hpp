// Who may write the checkpoints of a job into a folder that outlives run folders
// (jobs.*.checkpoint.path). Beside them, in FOLDER/JOB/run, is a record:
//
//   epoch-0003                the highest epoch that a launcher has claimed there
//   run-00c0ffee00c0ffee      the run that they belong to, by the number it has drawn
//   cancelled-mlp             as in policies/checkpoint/cancelled_jobs.hpp
//
// A launcher also holds a lock there while it lives. Locks of a shared file system may be lost
// with a connection: so no two launchers get the same epoch, and whoever finds a higher one
// than its own has lost the folder. Pure over a storage; one thread; blocks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policies/model/spec.hpp"
#include "runtime/base/storage.hpp"

namespace tidegate::policies {

// FOLDER/JOB/run, where `checkpoints` is FOLDER/JOB.
std::string claim_folder(std::string_view checkpoints);
// The name of a run's file there, "run-00c0ffee00c0ffee". `run`: 16 hex digits.
std::string run_file_name(std::string_view run);

// What is found in a folder of checkpoints and in its record.
struct claim_remains {
  bool has_launcher = false;         // one that lives holds the lock
  bool has_checkpoints = false;      // at least one that has a manifest
  std::uint32_t recorded_epoch = 0;  // 0: none
  std::uint32_t last_epoch = 0;      // on record, or of a file of a checkpoint; 0: none
  std::vector<std::string> runs;     // on record, by their numbers
  std::string described;             // the run on record, for people; empty: nothing is known
};

enum class claim_wish : std::uint8_t {
  begin,   // a run begins: nobody else's checkpoints may be there
  go_on,   // another run goes on from what is there
  resume,  // the run goes on that the folder belongs to
};

// Reads the record and the names of checkpoints. Errors: those of list and read.
runtime::expected<claim_remains> read_claims(runtime::storage& record,
                                             runtime::storage& checkpoints);

// Returns whether this run may write there. Errors: already_exists (a launcher has the folder,
// or it is another run's, and the message says what to do); over_limit (no epoch is left).
// `folder` is for the message.
runtime::status check_claim(const claim_remains& remains, claim_wish wish, std::string_view run,
                            const std::string& job, const std::string& folder);

// Puts `epoch` on record, durably, for this launcher alone. Errors: already_exists (another
// launcher has claimed it); those of the storage: then it may be on record or not.
runtime::status claim_epoch(runtime::storage& record, std::uint32_t epoch);

// Puts this run on record, durably, and takes others off. `described`: a line for people.
// Errors: those of the storage.
runtime::status record_run(runtime::storage& record, std::string_view run,
                           const std::string& described);

// Replaces a file of the record durably. Errors: those of the storage.
runtime::status replace_file(runtime::storage& record, const std::string& name,
                             const std::string& text);

// Returns whether whoever is in `epoch` may still write checkpoints. Errors: refused (another
// launcher has gone on with them); those of list. `folder` is for the message.
runtime::status check_epoch(runtime::storage& record, std::uint32_t epoch,
                            const std::string& folder);

}  // namespace tidegate::policies
