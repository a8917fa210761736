// Run folders, and whose logs are in them. Any thread; what cannot be read is not there.
#pragma once

#include <string>
#include <vector>

namespace tidegate::launch {

// A run has begun in this folder.
bool is_run(const std::string& folder);

// The processes that have logs in a run folder, as "worker-mlp-0", in the order of their
// names; 4,096 at most.
std::vector<std::string> log_writers(const std::string& run_dir);

}  // namespace tidegate::launch
