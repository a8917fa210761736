// Where a run was launched from: what its commands and paths are relative to, and how its
// folder was spelled then. Kept in RUN_DIR/origin.json for who resumes it. Any thread.
#pragma once

#include <string>

#include "runtime/base/status.hpp"

namespace tidegate::launch {

struct origin {
  std::string folder;   // the launcher's current one, absolute
  std::string run_dir;  // absolute; the processes of the run have it in their environment
  // The number that the run has drawn, 16 hex digits; empty where no job names a folder for its
  // checkpoints.
  std::string run = {};

  friend bool operator==(const origin&, const origin&) = default;
};

std::string origin_json(const origin& from);
// Errors: not_found, io_error, corrupt.
runtime::expected<origin> read_origin(const std::string& run_dir);

}  // namespace tidegate::launch
