// TCP connections between two processes of this machine, and their end: what a middlebox, a
// cable or a keep-alive does to them, while both processes live. Any thread.
#pragma once

#include <cstddef>
#include <sys/types.h>

#include "runtime/base/status.hpp"

namespace tidegate::chaos {

// Shuts down every TCP connection between the two processes, whatever network namespaces they
// are in, and returns how many there were. Errors: not_found (a process is gone), refused (not
// permitted: the caller may not trace the process), io_error.
runtime::expected<std::size_t> cut_connections(pid_t process, pid_t other);

}  // namespace tidegate::chaos
