// Times at which the launcher is to look again, in nanoseconds of its clock, and processes that
// it looks at then. Plain values.
#pragma once

#include <cstdint>
#include <limits>

#include "policies/model/process_name.hpp"

namespace tidegate::policies::launching {

inline constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

struct timed_process {
  process_number process = 0;
  std::int64_t until = 0;
};

}  // namespace tidegate::policies::launching
