// Counts calls of operator new in this program; link tests/support/allocations.cpp.
#pragma once

#include <cstdint>

namespace tidegate::tests {

// Since the program started, over all threads.
std::uint64_t allocations() noexcept;
// The bytes that they asked for, given back or not.
std::uint64_t bytes_asked_for() noexcept;

}  // namespace tidegate::tests
