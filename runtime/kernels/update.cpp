#include "runtime/kernels/update.hpp"

#include <algorithm>

#include "runtime/base/assert.hpp"
#include "runtime/kernels/combine.hpp"
#include "runtime/kernels/fused.hpp"
#include "runtime/kernels/gaps.hpp"
#include "runtime/kernels/plugins.hpp"
#include "runtime/kernels/tree.hpp"
#include "runtime/optimizers/registry.hpp"

namespace tidegate::runtime::kernels {

namespace {

// Floats: all partial sums of a deep tree stay in the L1 cache, and every input is read in runs
// that are long enough for the memory. 128 to 512 measured alike, 1024 clearly worse.
constexpr std::size_t block = 256;
static_assert(block <= plugin_run);

// Sums elements [offset, offset + n) of the inputs, n <= block. Returns where the sum is: an
// input itself when it is the only one, else `out`.
operand sum_range(std::span<const gradient> inputs, std::uint64_t lo, std::uint64_t span,
                  std::size_t offset, float* out, std::size_t n) {
  if (inputs.size() == 1) return at_offset(inputs[0], offset);
  dense_inputs full;  // every rank is there
  if (inputs.size() == span && have_loop(inputs, offset, full)) {
    fused_sum(full, out, n);
    return {out, element::float32};
  }
  const auto at = first_fork(inputs, lo, span);
  alignas(64) float scratch[block];
  const auto a = sum_range(inputs.first(at.left), at.lo, at.half, offset, out, n);
  const auto b =
      sum_range(inputs.subspan(at.left), at.lo + at.half, at.half, offset, scratch, n);
  add(a, b, out, n);
  return {out, element::float32};
}

// The same where gaps are possible: one pass over the block for each addition.
const float* sum_block_around_gaps(std::span<const gradient> inputs, std::uint64_t lo,
                                   std::uint64_t span, std::size_t offset, float* out,
                                   std::size_t n) {
  if (inputs.size() == 1) {
    TIDEGATE_ASSERT(inputs[0].type == element::float32, "gaps are told by the bits of float32");
    return static_cast<const float*>(inputs[0].data) + offset;
  }
  const auto at = first_fork(inputs, lo, span);
  alignas(64) float scratch[block];
  const auto* a = sum_block_around_gaps(inputs.first(at.left), at.lo, at.half, offset, out, n);
  const auto* b = sum_block_around_gaps(inputs.subspan(at.left), at.lo + at.half, at.half,
                                        offset, scratch, n);
  add_around_gaps(a, b, out, n);
  return out;
}

const float* sum_block(std::span<const gradient> inputs, std::size_t offset, float* out,
                       std::size_t n) {
  return sum_block_around_gaps(inputs, 0, ranks_spanned(inputs), offset, out, n);
}

// A reduction that is no sum, with the rule of a plugin, if it is one.
struct found_reduction {
  explicit found_reduction(const combination& combined) : rule(combined) {}

  const combination& rule;
  const reduction_entry* entry = reduction_entry_of(rule);
  rule_watch<reduction_entry> watch{entry};
};

// The same by a reduction that is no sum.
const float* reduce_range(const found_reduction& by, std::span<const gradient> inputs,
                          std::uint64_t lo, std::uint64_t span, std::size_t offset, float* out,
                          std::size_t n) {
  if (inputs.size() == 1) {
    const auto alone = at_offset(inputs[0], offset);
    if (alone.type == element::float32) return static_cast<const float*>(alone.data);
    fused_sum({.data = {alone.data}, .count = 1, .type = alone.type}, out, n);
    return out;
  }
  const auto at = first_fork(inputs, lo, span);
  alignas(64) float scratch[block];
  const auto* a = reduce_range(by, inputs.first(at.left), at.lo, at.half, offset, out, n);
  const auto* b =
      reduce_range(by, inputs.subspan(at.left), at.lo + at.half, at.half, offset, scratch, n);
  if (by.entry != nullptr)
    combine_by_plugin(*by.entry, by.rule.where, a, b, out, n);
  else
    combine(by.rule, a, b, out, n);
  return out;
}

const float* reduce_block(const found_reduction& by, std::span<const gradient> inputs,
                          std::size_t offset, float* out, std::size_t n) {
  return reduce_range(by, inputs, 0, ranks_spanned(inputs), offset, out, n);
}

}  // namespace

coefficients make_coefficients(const optimizer& options, beta_powers& powers, float scale) {
  const auto rates = next_rates(options, traits_of(options.kind).corrects_bias, powers);
  coefficients c;
  c.kind = options.kind;
  c.rate = rates.rate;
  c.kept = rates.kept;
  c.scale = scale;
  c.limit = options.clip_value;
  c.momentum = options.momentum;
  c.beta1 = options.beta1;
  c.beta1_rest = 1.0F - options.beta1;
  c.beta2 = options.beta2;
  c.beta2_rest = 1.0F - options.beta2;
  c.epsilon = options.epsilon;
  c.l1 = options.l1;
  c.l2 = options.l2;
  return c;
}

namespace {

chunk_arrays part(const chunk_arrays& whole, std::size_t offset, std::size_t n) {
  auto arrays = whole;
  arrays.before += offset;
  arrays.after += offset;
  if (arrays.state1 != nullptr) arrays.state1 += offset;
  if (arrays.state2 != nullptr) arrays.state2 += offset;
  arrays.n = n;
  arrays.sum = nullptr;  // it is there
  return arrays;
}

// A step, or without `options` an assignment, block by block: with what reduce(offset, out, n)
// returns of the inputs, which it may leave in `out`.
template <class Reduce>
void step_in_blocks(const coefficients* options, gaps where, const chunk_arrays& arrays,
                    const Reduce& reduce) {
  alignas(64) float scratch[block];
  dense_inputs alone;
  alone.count = 1;
  for (std::size_t offset = 0; offset < arrays.n; offset += block) {
    const std::size_t n = std::min(block, arrays.n - offset);
    alone.data[0] = reduce(offset, arrays.sum ? arrays.sum + offset : scratch, n);
    if (options == nullptr || where == gaps::possible)
      fused_step_around_gaps(options, alone, part(arrays, offset, n));
    else
      fused_step(*options, alone, part(arrays, offset, n));
  }
}

// A step, or without `options` the assignment of the sum.
void step_around_gaps(const coefficients* options, std::span<const gradient> inputs,
                      const chunk_arrays& arrays) {
  dense_inputs dense;
  if (find_dense(inputs, dense) && is_fused_around_gaps(dense.count))
    return fused_step_around_gaps(options, dense, arrays);
  step_in_blocks(options, gaps::possible, arrays,
                 [&](std::size_t offset, float* out, std::size_t n) {
                   return sum_block(inputs, offset, out, n);
                 });
}

// A step with what several gradients are reduced to, or without `options` its assignment.
void step_with_reduced(const coefficients* options, const combination& rule,
                       std::span<const gradient> inputs, const chunk_arrays& arrays) {
  const found_reduction by(rule);
  step_in_blocks(options, rule.where, arrays,
                 [&](std::size_t offset, float* out, std::size_t n) {
                   return reduce_block(by, inputs, offset, out, n);
                 });
}

bool is_reduced(const combination& rule, std::span<const gradient> inputs) {
  return !is_sum(rule.by) && inputs.size() > 1;
}

// What the inputs come to, by sum or otherwise, in float32: where it lies, or `out`.
const float* gradient_block(const found_reduction& by, std::span<const gradient> inputs,
                            std::size_t offset, float* out, std::size_t n) {
  if (is_reduced(by.rule, inputs)) return reduce_block(by, inputs, offset, out, n);
  if (by.rule.where == gaps::possible) return sum_block(inputs, offset, out, n);
  const auto sum = sum_range(inputs, 0, ranks_spanned(inputs), offset, out, n);
  if (sum.type == element::float32) return static_cast<const float*>(sum.data);
  fused_sum({.data = {sum.data}, .count = 1, .type = sum.type}, out, n);
  return out;
}

void step_with_plugin(const optimizer& options, beta_powers& powers,
                      std::span<const gradient> inputs, float scale,
                      const chunk_arrays& arrays) {
  (void)next_rates(options, true, powers);
  const auto rule = combination_of(options);
  const found_reduction by(rule);
  const plugin_step step{.entry = optimizer_entry_of(options),
                         .numbers = step_numbers(options, powers),
                         .where = rule.where,
                         .scale = scale,
                         .limit = options.clip_value};
  const rule_watch watch(step.entry);
  alignas(64) float scratch[block];
  for (std::size_t offset = 0; offset < arrays.n; offset += block) {
    const std::size_t n = std::min(block, arrays.n - offset);
    const auto* const sum =
        gradient_block(by, inputs, offset, arrays.sum ? arrays.sum + offset : scratch, n);
    step_by_plugin(step, sum, part(arrays, offset, n));
  }
}

}  // namespace

void tree_reduce(std::span<const gradient> inputs, float* out, std::size_t n,
                 const combination& rule) {
  if (!is_reduced(rule, inputs)) return tree_sum(inputs, out, n, rule.where);
  const found_reduction by(rule);
  for (std::size_t offset = 0; offset < n; offset += block)
    reduce_block(by, inputs, offset, out + offset, std::min(block, n - offset));
}

void tree_sum(std::span<const gradient> inputs, float* out, std::size_t n, gaps where) {
  TIDEGATE_ASSERT(!inputs.empty(), "something to sum");
  if (where == gaps::possible) {
    for (std::size_t offset = 0; offset < n; offset += block) {
      const std::size_t length = std::min(block, n - offset);
      const auto* sum = sum_block(inputs, offset, out + offset, length);
      if (sum != out + offset) std::copy_n(sum, length, out + offset);
    }
    return;
  }
  dense_inputs dense;
  if (find_dense(inputs, dense)) return fused_sum(dense, out, n);
  for (std::size_t offset = 0; offset < n; offset += block)
    sum_range(inputs, 0, ranks_spanned(inputs), offset, out + offset,
              std::min(block, n - offset));
}

void apply_update(const optimizer& options, beta_powers& powers,
                  std::span<const gradient> inputs, float scale, const chunk_arrays& arrays) {
  TIDEGATE_ASSERT(!inputs.empty(), "a step has a gradient");
  TIDEGATE_ASSERT(!arrays.sum || inputs.size() > 1, "one gradient is its own sum");
  if (options.kind == optimizer_kind::plugin)
    return step_with_plugin(options, powers, inputs, scale, arrays);
  const auto c = make_coefficients(options, powers, scale);
  const auto rule = combination_of(options);
  if (is_reduced(rule, inputs)) return step_with_reduced(&c, rule, inputs, arrays);
  if (options.lazy) return step_around_gaps(&c, inputs, arrays);
  dense_inputs dense;
  if (find_dense(inputs, dense)) return fused_step(c, dense, arrays);
  step_in_blocks(&c, gaps::none, arrays, [&](std::size_t offset, float* out, std::size_t n) {
    return sum_range(inputs, 0, ranks_spanned(inputs), offset, out, n).data;
  });
}

double squares_of_sum(std::span<const gradient> inputs, float scale, std::size_t n,
                      gaps where) {
  squares sums{};
  if (inputs.empty()) return 0;
  alignas(64) float scratch[block];
  for (std::size_t offset = 0; offset < n; offset += block) {
    const std::size_t part = std::min(block, n - offset);
    if (where == gaps::possible) {
      const auto* sum = sum_block(inputs, offset, scratch, part);
      std::transform(sum, sum + part, scratch, [](float x) { return is_gap(x) ? 0.0F : x; });
      add_squares(scratch, scale, part, sums);
      continue;
    }
    auto sum = sum_range(inputs, 0, ranks_spanned(inputs), offset, scratch, part);
    if (sum.type != element::float32) {  // one input alone
      dense_inputs alone{.data = {sum.data}, .count = 1, .type = sum.type};
      fused_sum(alone, scratch, part);
      sum.data = scratch;
    }
    add_squares(static_cast<const float*>(sum.data), scale, part, sums);
  }
  return total_of(sums);
}

void assign_sum(std::span<const gradient> inputs, const chunk_arrays& arrays,
                const combination& rule) {
  if (is_reduced(rule, inputs)) return step_with_reduced(nullptr, rule, inputs, arrays);
  if (rule.where == gaps::possible) return step_around_gaps(nullptr, inputs, arrays);
  tree_sum(inputs, arrays.after, arrays.n);
  if (arrays.sum != nullptr) std::copy_n(arrays.after, arrays.n, arrays.sum);
}

}  // namespace tidegate::runtime::kernels
