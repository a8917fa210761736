// The jobs of a run that somebody has cancelled, so that they do not begin again when the run
// is resumed. On record in the folder of the run's epochs, as names of files: "cancelled-mlp".
// Pure over a storage; one thread; blocks.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/storage.hpp"

namespace tidegate::policies {

// Returns their names. Errors: those of list.
runtime::expected<std::vector<std::string>> cancelled_jobs(runtime::storage& folder);
// Returns when the name of the job is there for good. Errors: those of the storage; then it may
// be on record or not.
runtime::status record_cancelled(runtime::storage& folder, const std::string& job);

}  // namespace tidegate::policies
