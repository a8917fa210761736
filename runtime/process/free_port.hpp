// A TCP port of this host that nobody has.
#pragma once

#include <cstdint>

namespace tidegate::runtime {

// Returns a port that was free a moment ago, for a program that will listen there soon; 0 if
// the kernel has none. Any thread.
std::uint16_t free_port();

}  // namespace tidegate::runtime
