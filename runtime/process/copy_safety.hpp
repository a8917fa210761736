// Whether a process may go on as two: what is forked has one thread, and shares open files.
#pragma once

#include <functional>
#include <sys/types.h>

namespace tidegate::runtime {

// Returns true if this process, which is the caller's alone, has no thread but the calling one
// and no descriptor but standard input, output and error, `own`, and /dev/null. Forks once, a
// child that ends at once: libraries that put their threads away for a fork (OpenBLAS) do so,
// and start them again when they are needed. A child that does not end within 5 s, because it
// waits for a lock of another thread, is killed, and the answer is false.
bool is_safe_to_copy(const std::function<pid_t()>& fork, int own);

}  // namespace tidegate::runtime
