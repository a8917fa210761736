// What a link reads and changes in the address of a UCX worker, of this folder alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/status.hpp"

namespace tidegate::runtime {

// Returns the number of the worker that this address leads to. Errors: invalid_argument (the
// bytes are no address of this UCX).
expected<std::uint64_t> worker_number(std::string_view address);

// Returns an address of the same worker under a number that nobody has. UCX counts how many
// endpoints a process has made to a number, and pairs the n-th of both sides, be it closed or
// not; an endpoint to a number of its own is paired with a fresh one.
expected<std::string> renumbered(std::string_view address);

}  // namespace tidegate::runtime
