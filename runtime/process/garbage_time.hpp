// For how long the language of this process's program has collected garbage, as that says. Any
// thread.
#pragma once

#include <cstdint>

namespace tidegate::runtime {

void add_garbage_ns(std::uint64_t lasted) noexcept;
// Returns the sum so far, in nanoseconds.
std::uint64_t garbage_ns_of_process() noexcept;

}  // namespace tidegate::runtime
