// Asks for memory ahead of its use.
#pragma once

#include <cstddef>

namespace tidegate::runtime {

// Asks for all cache lines of so many floats; any address may be given.
inline void prefetch(const float* floats, std::size_t count) noexcept {
  constexpr std::size_t floats_per_line = 16;
  for (std::size_t i = 0; i < count; i += floats_per_line) __builtin_prefetch(floats + i);
}

}  // namespace tidegate::runtime
