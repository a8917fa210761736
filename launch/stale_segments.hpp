// Shared-memory files that a killed process has left. UCX makes its segments as files in
// /dev/shm and removes their names at once; a process that is killed in between leaves one.
#pragma once

#include <string>

namespace tidegate::launch {

// Removes those of this user, in `folder`, that no process has open or mapped. Returns how
// many. All stay when a younger process cannot be looked at.
int remove_stale_segments(const std::string& folder = "/dev/shm");

}  // namespace tidegate::launch
