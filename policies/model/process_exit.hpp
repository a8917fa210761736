// How a process of a run has ended. A plain value.
#pragma once

#include <cstdint>
#include <string>

namespace tidegate::policies {

// `text`: "worker 2 of job mlp (pid 47) was killed by SIGKILL".
struct process_exit {
  enum class ending : std::uint8_t { clean, bad_status, by_signal };
  ending kind = ending::clean;
  std::string text;
};

}  // namespace tidegate::policies
