// What processes of a simulated cluster have noted of what they did. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launch/simulate/cluster/schedule.hpp"
#include "runtime/base/trace_span.hpp"

namespace tidegate::sim {

// Of an incarnation of a process, in order. The simulation begins at `begin`, as a time of 0
// says nothing.
struct noted_spans {
  static constexpr nanoseconds begin = second;

  std::string process;
  std::vector<runtime::trace_span> all;
};

}  // namespace tidegate::sim
