// The canonical tree over any set of ranks, as a list that a kernel follows with a few partial
// sums in registers. A pure function of the inputs, any thread; the plan has no memory of its
// own, and goes to a kernel by value.
//
// The subtree with more inputs comes first: it leaves one partial sum, and its sibling then
// needs no more than half of the places. a + b and b + a have the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/kernels/update.hpp"

namespace tidegate::runtime::kernels::cuda {

// Inputs of one step. More are summed in aligned groups of ranks first, with the same bits.
constexpr std::size_t plan_inputs_max = 64;
// Partial sums at a time: log2(plan_inputs_max).
constexpr std::size_t plan_depth_max = 6;

// An input is pushed onto the stack, or added to the partial sum on top of it; then the upper
// two of the stack are added, `merges` times.
struct plan_entry {
  const void* data = nullptr;
  element type = element::float32;
  bool is_pushed = false;
  std::uint8_t merges = 0;
};

struct sum_plan {
  plan_entry entries[plan_inputs_max];
  std::uint32_t count = 0;
};

// Returns the plan of tree_sum(inputs); plan_inputs_max of them at most, and at least one.
sum_plan make_plan(std::span<const gradient> inputs);

}  // namespace tidegate::runtime::kernels::cuda
