// A process of a run that lives. A plain value.
#pragma once

#include <cstdint>

#include "policies/model/process_name.hpp"

namespace tidegate::launch {

// The pid is of this process only as long as what has it started then.
struct live_process {
  policies::process_name name;
  int pid = -1;                    // on its host
  std::uint64_t started = 0;       // clock ticks since the machine of its host started
  policies::host_number host = 0;  // of the agent that has started it
  std::uint32_t incarnation = 1;
};

}  // namespace tidegate::launch
