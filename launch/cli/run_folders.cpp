#include "launch/cli/run_folders.hpp"

#include <algorithm>
#include <filesystem>

namespace tidegate::launch {

namespace fs = std::filesystem;

// Its file of the cluster says that a run began.
bool is_run(const std::string& folder) {
  std::error_code error;
  return fs::is_regular_file(fs::path(folder) / "cluster.yaml", error) &&
         fs::is_regular_file(fs::path(folder) / "events.jsonl", error);
}

std::vector<std::string> log_writers(const std::string& run_dir) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(run_dir + "/logs", error))
    if (entry.path().extension() == ".log") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace tidegate::launch
