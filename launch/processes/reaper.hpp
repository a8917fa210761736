// Takes leave of children that have ended, on a thread of its own: the kernel removes a
// process's entries of /proc before it gives the pid back, and was seen to be at it for ten
// seconds where others look through /proc meanwhile (Linux 6.18, agents of low priority). An
// agent that says nothing for so long is lost with its host.
#pragma once

#include <sys/types.h>

#include "runtime/base/unique_fd.hpp"

namespace tidegate::launch {

// Waits for a child that has ended, in the background. The pid is not another's before that.
// Any thread; the first call starts the thread, which lasts as long as the process.
void take_leave(pid_t child, runtime::unique_fd pid_fd);
// Returns true if take_leave() has been called for this child, and the pid is not given back
// yet.
bool is_leaving(pid_t child);

}  // namespace tidegate::launch
