// The wait of a loop that looks at descriptors and the clock. Any thread.
#pragma once

#include <cstdint>
#include <poll.h>
#include <vector>

namespace tidegate::launch {

// Waits until one of these is ready, or until then (nanoseconds of runtime::steady_now()), a
// minute at most.
void poll_until(std::vector<pollfd>& fds, std::int64_t when);

}  // namespace tidegate::launch
