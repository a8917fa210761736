// A link that loses frames, brings them late or twice, by a seed: for clusters that are to show
// that they bear it (docs/fault_tolerance.md). Wraps another; connections, and what one lends,
// stay as they are.
//
// What is late or doubled is sent from a copy, so that the memory of a post may be used again
// as if it had been sent. Thread rule: that of a link.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/transport/link.hpp"

namespace tidegate::runtime {

struct link_faults {
  std::uint64_t seed = 0;
  // Shares of all frames, in [0, 1].
  double drop = 0;
  double duplicate = 0;
  double delay = 0;
  std::uint32_t delay_ms_min = 0;  // drawn between both
  std::uint32_t delay_ms_max = 0;
};

// Errors: io_error (no descriptors).
expected<std::unique_ptr<link>> make_lossy(std::unique_ptr<link> inner,
                                           const link_faults& faults);

}  // namespace tidegate::runtime
