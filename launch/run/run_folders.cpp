#include "launch/run/run_folders.hpp"

#include <algorithm>
#include <filesystem>

namespace tidegate::launch {

namespace fs = std::filesystem;

bool is_run(const std::string& folder) {
  std::error_code error;
  return fs::is_regular_file(fs::path(folder) / "cluster.yaml", error) &&
         fs::is_regular_file(fs::path(folder) / "events.jsonl", error);
}

std::vector<std::string> log_writers(const std::string& run_dir) {
  constexpr std::size_t names_most = 4096;
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator at(run_dir + "/logs", error);
  for (; !error && at != fs::directory_iterator() && names.size() < names_most;
       at.increment(error))
    if (at->path().extension() == ".log") names.push_back(at->path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace tidegate::launch
