// A clock for records of how time is spent, on paths where steady_now() is too dear: the
// processor's counter of ticks, read without waiting for the instructions before it, in
// nanoseconds. Where a processor's counter may stop or change its pace, steady_now() instead.
#pragma once

#include <cstdint>

namespace tidegate::runtime {

// Nanoseconds; only differences mean anything, and only of calls of this clock in one process.
// Off by a ten-thousandth at most. On another core it may be behind by some nanoseconds, so
// differences may be below zero. Measures the counter's pace, for a millisecond, when it is
// called first. Any thread.
std::int64_t record_now() noexcept;

}  // namespace tidegate::runtime
