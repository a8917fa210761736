// Ranges of a table's elements, and the chunks that they lie in. A worker pushes and pulls
// ranges (Li et al. 2014, section 3.2, key ranges); consistency, credits and duplicates are of
// chunks. A chunk that no range touches is skipped, or not asked for; in one that a range
// covers in part, the gradient of the rest is gaps (runtime/kernels/gaps.hpp).
//
// Pure functions, any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "policies/placement/placement.hpp"
#include "runtime/base/element_range.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::policies {

// Returns ok if the ranges ascend, do not overlap, are not empty, and end within `elements`.
// Errors: invalid_argument, naming the range that is wrong by its index.
runtime::status check_ranges(std::span<const runtime::element_range> ranges,
                             std::uint64_t elements);

// Returns how many elements the ranges have.
std::uint64_t elements_of(std::span<const runtime::element_range> ranges) noexcept;

// Replaces `into` by the indexes of the chunks that the ranges touch, ascending. `places`: of a
// whole table. The ranges have passed check_ranges().
void find_chunks(std::span<const chunk_place> places,
                 std::span<const runtime::element_range> ranges,
                 std::vector<std::uint32_t>& into);

// Calls `gap` for each stretch of elements, ascending, that no range covers though one touches
// its chunk.
void visit_gaps(std::span<const chunk_place> places,
                std::span<const runtime::element_range> ranges,
                const std::function<void(const runtime::element_range&)>& gap);

}  // namespace tidegate::policies
