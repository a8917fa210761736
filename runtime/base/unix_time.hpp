// What time it is, for people who read logs and for intervals alike: a machine's clock that is
// set while a process runs changes nothing here.
#pragma once

#include <cstdint>

namespace tidegate::runtime {

// Nanoseconds since 1970: the wall clock as it was when this process first asked, and the time
// since then by a clock that never jumps. Never goes back. Any thread.
std::int64_t unix_now();

// Nanoseconds of a clock that never goes back nor jumps; only differences mean anything. Any
// thread.
std::int64_t steady_now();

}  // namespace tidegate::runtime
