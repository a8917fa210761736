#include "launch/leftovers.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <unistd.h>
#include <vector>

#include "launch/files.hpp"
#include "launch/scalars.hpp"
#include "runtime/process/process_mark.hpp"
#include "runtime/process/process_stat.hpp"

namespace tidegate::launch {

namespace {

namespace fs = std::filesystem;

constexpr int gone_within_ms = 5000;

bool has_environment_of(pid_t pid, const std::string& run_dir) {
  const auto environment = read_file("/proc/" + std::to_string(pid) + "/environ");
  return environment && is_of_run(*environment, run_dir);
}

std::vector<runtime::process_mark> find_leftovers(const std::string& run_dir) {
  std::vector<runtime::process_mark> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const auto number = parse_unsigned(entry.path().filename().string());
    if (!number) continue;
    const auto pid = static_cast<pid_t>(*number);
    // In this order: a pid that changes hands in between shows in its environment.
    const auto stat = runtime::stat_of(pid);
    if (!stat || runtime::is_over(*stat) || ::getpgid(pid) == ::getpgrp()) continue;
    if (has_environment_of(pid, run_dir)) found.push_back({pid, stat->started});
  }
  return found;
}

}  // namespace

bool is_of_run(std::string_view environment, std::string_view run_dir) {
  const auto entry = "TIDEGATE_RUN_DIR=" + std::string(run_dir);
  while (!environment.empty()) {
    const auto end = std::min(environment.find('\0'), environment.size());
    if (environment.substr(0, end) == entry) return true;
    environment.remove_prefix(std::min(end + 1, environment.size()));
  }
  return false;
}

runtime::expected<int> end_leftovers(const std::string& run_dir) {
  int ended = 0;
  // Until nobody is found: one may have started another meanwhile.
  for (auto found = find_leftovers(run_dir); !found.empty(); found = find_leftovers(run_dir)) {
    for (const auto& one : found)
      if (auto result = runtime::end_process(one, gone_within_ms); !result.ok())
        return runtime::fail(result.code(),
                             "of an earlier life of this run: " + result.message());
    ended += static_cast<int>(found.size());
  }
  return ended;
}

}  // namespace tidegate::launch
