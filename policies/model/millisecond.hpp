// Times of the cores are nanoseconds of some steady clock, limits in specs milliseconds.
#pragma once

#include <cstdint>

namespace tidegate::policies {

inline constexpr std::int64_t millisecond = 1'000'000;

}  // namespace tidegate::policies
