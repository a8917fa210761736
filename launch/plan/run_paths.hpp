// Where things are in a run folder, whoever writes them. Pure, any thread.
#pragma once

#include <cstdint>
#include <string>

namespace tidegate::launch {

// Of a process, by its name as a text, or "agent-blue" of a host.
inline std::string log_path(const std::string& run_dir, const std::string& writer) {
  return run_dir + "/logs/" + writer + ".log";
}

// The folder of a run for which nobody has named one: runs/NAME-YYYYmmdd-HHMMSS, in local time.
std::string stamped_run_dir(const std::string& cluster, std::int64_t unix_seconds);

// The cluster file before its engine had named the hosts; only where one has.
inline constexpr const char* engine_file = "engine.yaml";

}  // namespace tidegate::launch
