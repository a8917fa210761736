// What frames of tables of rows may carry (runtime/batches): batches, requests and answers are
// whole cache lines, and of any number of them up to a bound. Pure, any thread.
#pragma once

#include <cstdint>

#include "runtime/base/limits.hpp"

namespace tidegate::policies {

inline constexpr std::uint64_t row_line_bytes = 64;

// Returns true if a push or a request of a part of a table of rows may have so many bytes,
// or the sum of as many pushes as there are.
constexpr bool is_row_payload(std::uint64_t bytes, std::uint64_t pushes = 1) noexcept {
  return bytes >= row_line_bytes && bytes <= pushes * runtime::limits::chunk_bytes_max &&
         bytes % row_line_bytes == 0;
}

}  // namespace tidegate::policies
