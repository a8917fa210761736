// The functions that shards run on their chunks for workers that call them: those that are
// built in, by name.
//
// Pure: what a function returns follows from its arguments and the chunk alone, and chunks are
// combined in their order, so results do not depend on how many shards there are. Sums are
// made in double precision, element by element in their order. Any thread. No allocation.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "runtime/base/status.hpp"
#include "runtime/functions/call_wire.hpp"

namespace tidegate::runtime {

// A chunk of a table, in one version.
struct function_chunk {
  std::span<const float> parameters;
  std::uint64_t first = 0;  // element of the table
};

struct library_function {
  std::string_view name;
  std::string_view doc;         // what its results are
  std::uint32_t arguments = 0;  // as many, exactly
  errc (*run)(const function_chunk& chunk, std::span<const double> arguments,
              function_results& results) = nullptr;
};

// The functions that are built in, in the order of their names.
std::span<const library_function> built_in_functions() noexcept;

// Returns their names, for messages.
std::string names_of_functions();

// Runs the function of that name on a chunk; `outcome` says if it could.
function_results run_function(const function_call& call, const function_chunk& chunk);

}  // namespace tidegate::runtime
