// The canonical tree over ranks, which update.hpp defines, for those who walk it: the loops of
// this folder and the plans of runtime/kernels/cuda. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/kernels/fused.hpp"
#include "runtime/kernels/update.hpp"

namespace tidegate::runtime::kernels {

// The place in the tree over ranks [lo, lo + 2 half) that has inputs on both sides of its
// middle; `left` of them lie below it.
struct fork {
  std::uint64_t lo = 0, half = 0;
  std::size_t left = 0;
};

// Returns the first such place in the tree over ranks [lo, lo + span), where span is a power of
// two and at least two inputs lie.
fork first_fork(std::span<const gradient> inputs, std::uint64_t lo, std::uint64_t span);

// Returns the number of ranks that the tree over these inputs spans, from rank 0: a power of
// two.
std::uint64_t ranks_spanned(std::span<const gradient> inputs);

// Returns the data of this input from element `offset` on.
operand at_offset(const gradient& input, std::size_t offset);

// Returns true if the inputs have one type and a loop for their number; `found` has them then,
// from element `offset` on.
bool have_loop(std::span<const gradient> inputs, std::size_t offset, dense_inputs& found);

// Returns true if besides their tree is the one over ranks 0 .. size - 1. The ranks need not be
// those: two inputs always are, and so are groups that were summed before.
bool find_dense(std::span<const gradient> inputs, dense_inputs& found);

}  // namespace tidegate::runtime::kernels
