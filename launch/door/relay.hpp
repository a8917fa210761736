// `tidegate relay`: what a launcher runs to have an agent started behind a door (door.hpp), and
// is to the launcher as if it were the agent: it hands on its standard input, says what the
// agent says, and ends as the agent does. Main thread only.
#pragma once

#include <cstdint>
#include <string>

namespace tidegate::launch {

struct relay_options {
  std::string door;  // sockets.hpp: parse_place()
  std::string key_file;
  // For so long a door is tried again that nobody has opened yet.
  std::uint32_t wait_ms = 10'000;
};

// Returns what to exit with: the agent's exit status, or 128 and its signal; 1 if the
// connection ends before it, 2 if it could not be made. Why is on stdout and stderr.
int run_relay(const relay_options& options);

}  // namespace tidegate::launch
