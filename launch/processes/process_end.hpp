// How a process of a run has ended, as the kernel tells it. Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <sys/types.h>

#include "policies/launcher/core.hpp"

namespace tidegate::launch {

struct process_end {
  policies::process_number process = 0;
  std::uint32_t incarnation = 1;
  policies::process_name name;
  pid_t pid = -1;
  bool by_signal = false;
  int code = 0;  // exit status, or the signal's number
};

// "worker 2 of job mlp (pid 4711) was killed by SIGKILL", "shard 0 (pid 12) exited with status
// 1", "coordinator 0 (pid 9) exited with status 5: the disk of the run folder is full"
std::string to_string(const process_end& end);

// "was killed by SIGKILL", "exited with status 1"
std::string text_of_end(bool by_signal, int code);

policies::process_exit to_exit(const process_end& end);

}  // namespace tidegate::launch
