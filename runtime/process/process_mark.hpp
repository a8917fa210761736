// Which process, for ever: a pid may be another's tomorrow, together with the time when it
// started it is not. And the end of one for sure. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/status.hpp"

namespace tidegate::runtime {

struct process_mark {
  std::int32_t pid = 0;
  std::uint64_t started = 0;  // clock ticks since the machine started

  friend bool operator==(const process_mark&, const process_mark&) = default;
};

// Of this process.
process_mark own_mark();

// Names where pids are the same processes as for this one: since which start of which machine,
// in which namespace of pids.
std::string machine_of_pids();

// Whether that process runs, and has not begun to exit: its sockets close after that.
bool is_running(const process_mark& process);

// Returns the processes that this one has started, and those that these have, as far as their
// parents still live.
std::vector<process_mark> descendants_of(std::int32_t pid);

// SIGKILL, and waits until it runs no more and has none of our memory mapped. Nothing happens
// where it is gone, where the pid is another process's, and to this process. Errors: refused
// (not our user's), timed_out (it does not end: it waits for a disk, say).
status end_process(const process_mark& mark, int within_ms);

}  // namespace tidegate::runtime
