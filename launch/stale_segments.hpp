// Shared memory that killed processes have left. UCX makes its segments as files in /dev/shm,
// or as those of System V, and removes their names at once; a process that is killed in between
// leaves one.
#pragma once

#include <span>
#include <string>
#include <sys/types.h>

namespace tidegate::launch {

// Removes those of this user, in `folder`, that no process has open or mapped. Returns how
// many. All stay when a younger process cannot be looked at.
int remove_stale_segments(const std::string& folder = "/dev/shm");

// Those of System V that these processes, which have ended, have made, and that nobody is
// attached to. Returns how many. (By their makers: a segment of another program may well wait
// for somebody with nobody attached.)
int remove_segments_of(std::span<const pid_t> makers);

}  // namespace tidegate::launch
