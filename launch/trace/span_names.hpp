// What spans are called in a trace, and which of them belong together. Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/trace_span.hpp"

namespace tidegate::launch {

std::string_view slice_name(const runtime::trace_span& of);

// Returns true for a call that pushes.
bool pushes(const runtime::trace_span& of);
// Returns true for what brings a shard or aggregator a gradient.
bool brings_gradient(const runtime::trace_span& of);
// Returns true for a frame between processes of a shard's chain.
bool is_of_chain(const runtime::trace_span& of);
// Returns the clock whose push it belongs to: a reply is to a pull of the clock after.
std::uint64_t pushed_clock_of(const runtime::trace_span& of);
// Returns true if it is of this table, or chunk, too.
bool has_table(const runtime::trace_span& of, std::uint32_t table);
bool has_chunk(const runtime::trace_span& of, std::uint32_t chunk);

// Returns the number of "worker-mlp-3", and whether it is a "worker".
std::uint32_t number_of(std::string_view writer);
bool is_of(std::string_view writer, std::string_view role);

}  // namespace tidegate::launch
