// Counts calls of operator new in this program; link tests/support/allocations.cpp.
#pragma once

#include <cstdint>

namespace tidegate::tests {

// Since the program started, over all threads.
std::uint64_t allocations() noexcept;

}  // namespace tidegate::tests
