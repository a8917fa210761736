// Tells a process that was forked from the one it remembers.
//
// Threads do not survive a fork, and sockets and shared memory belong to both processes then.
// Whoever has threads remembers the count of forks when it starts them, and leaves everything
// alone where the count has changed.
#pragma once

#include <cstdint>

namespace tidegate::runtime {

// Returns how many forks lie between this process and the first call of this function in the
// process that it descends from. Any thread; a load of an atomic.
std::uint32_t fork_count();

}  // namespace tidegate::runtime
