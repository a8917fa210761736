// Where a reader of the same host finds the rows of a part as they are now, which it reads by
// itself in place of being sent their values: the short answer to a gather that lets it.
//
//   lease    128 bytes: fields of row_lease, zeros; numbers are little-endian
//
// A lease is no lock. The owner writes when the policy lets it make the next step, under bsp
// when the reader has pushed again. A reader that is late, say one whose predecessor has pushed
// already, finds out by the version of the rows (row_view.hpp), and asks for values.
//
// Plain values, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/status.hpp"
#include "runtime/rows/row_table.hpp"

namespace tidegate::runtime {

struct row_lease {
  row_place place;
  std::uint64_t version = 0;  // row_view::version() while they are what was asked for

  friend bool operator==(const row_lease&, const row_lease&) = default;
};

inline constexpr std::size_t row_lease_bytes = 128;

// `into`: row_lease_bytes (asserted).
void encode(const row_lease& lease, std::span<std::byte> into);
// Errors: corrupt (another size, or no lease).
expected<row_lease> decode_lease(std::span<const std::byte> bytes);

}  // namespace tidegate::runtime
