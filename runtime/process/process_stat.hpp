// What the kernel says of a process in /proc/PID/stat (proc(5)). Any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/base/status.hpp"

namespace tidegate::runtime {

struct process_stat {
  char state = '?';
  int parent = -1;
  int group = -1;
  int session = -1;
  bool exits = false;         // it has begun to, and its descriptors close
  std::uint64_t started = 0;  // clock ticks since the machine started
};
// Errors: corrupt.
expected<process_stat> parse_stat(std::string_view text);
// Errors: not_found (no such process), corrupt.
expected<process_stat> stat_of(int pid);
// Returns how much of this process is in memory, shared memory with it; 0: the kernel does not
// say.
std::uint64_t resident_bytes_of_process() noexcept;
// Nothing of it is left but its exit status.
bool is_over(const process_stat& stat);

}  // namespace tidegate::runtime
