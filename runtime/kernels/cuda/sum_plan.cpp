#include "runtime/kernels/cuda/sum_plan.hpp"

#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/kernels/tree.hpp"

namespace tidegate::runtime::kernels::cuda {

namespace {

struct subtree {
  std::span<const gradient> inputs;
  std::uint64_t lo = 0, span = 0;
};

void append_input(const gradient& input, bool is_pushed, sum_plan& plan) {
  plan.entries[plan.count++] = {
      .data = input.data, .type = input.type, .is_pushed = is_pushed, .merges = 0};
}

void append(const subtree& tree, sum_plan& plan) {
  if (tree.inputs.size() == 1) return append_input(tree.inputs[0], true, plan);
  const auto at = first_fork(tree.inputs, tree.lo, tree.span);
  subtree larger{.inputs = tree.inputs.first(at.left), .lo = at.lo, .span = at.half};
  subtree smaller{
      .inputs = tree.inputs.subspan(at.left), .lo = at.lo + at.half, .span = at.half};
  if (larger.inputs.size() < smaller.inputs.size()) std::swap(larger, smaller);
  append(larger, plan);
  if (smaller.inputs.size() == 1) return append_input(smaller.inputs[0], false, plan);
  append(smaller, plan);
  ++plan.entries[plan.count - 1].merges;
}

}  // namespace

sum_plan make_plan(std::span<const gradient> inputs) {
  TIDEGATE_ASSERT(!inputs.empty() && inputs.size() <= plan_inputs_max, "a plan has room");
  sum_plan plan;
  append({.inputs = inputs, .lo = 0, .span = ranks_spanned(inputs)}, plan);
  return plan;
}

}  // namespace tidegate::runtime::kernels::cuda
