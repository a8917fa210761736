// Process-wide log to stderr, one line a call, with time, level and the role set at start. Any
// thread. TIDEGATE_LOG=debug|info|warn|error chooses the level; info without it.
#pragma once

#include <string_view>

namespace tidegate::runtime::log {

// Call once at the start of a process: "shard-1", "worker-mlp-3".
void start(std::string_view role);

void debug(std::string_view line);
void info(std::string_view line);
void warn(std::string_view line);
void error(std::string_view line);

}  // namespace tidegate::runtime::log
