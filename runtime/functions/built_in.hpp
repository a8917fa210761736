// The functions that every shard has, as a plugin would say them. Pure, any thread.
#pragma once

#include <span>

#include <tidegate/plugin.h>

namespace tidegate::runtime {

// In the order of their names.
std::span<const tidegate_function> built_in_functions() noexcept;

}  // namespace tidegate::runtime
