// How many mappings the kernel lets a process have. Any thread.
#pragma once

#include <cstdint>

namespace tidegate::runtime {

// vm.max_map_count, read once; its default where it cannot be read.
std::uint64_t map_limit();

}  // namespace tidegate::runtime
