// How much memory this process and its children may take. Any thread.
#pragma once

#include <cstdint>
#include <string>

namespace tidegate::runtime {

// In bytes: the least limit of the control groups that this process is in, or the machine's
// memory without such a limit, or with a larger one.
std::uint64_t machine_memory();

// The same under another root than "/", for tests: ROOT/proc and ROOT/sys/fs/cgroup.
std::uint64_t memory_under(const std::string& root, std::uint64_t of_machine);

}  // namespace tidegate::runtime
