// What waitid(2) is asked for to wait by a pidfd.
#pragma once

#include <sys/wait.h>

namespace tidegate::launch {

// From <linux/wait.h>; glibc's idtype_t has it since 2.36 only.
inline constexpr auto by_pid_fd = static_cast<idtype_t>(3);

}  // namespace tidegate::launch
