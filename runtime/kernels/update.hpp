// Sum of the workers' gradients and one optimizer step over a chunk, in one pass over memory.
//
// The sum follows one canonical balanced binary tree over worker ranks: the tree over ranks
// [lo, hi) is the tree over the largest aligned power of two below, plus the rest. A rank that
// pushed nothing is not there; its sibling takes its parent's place. The bits of the result
// depend on the set of (rank, gradient) pairs alone, not on chunking, threads or order of
// arrival; whoever sums an aligned group of 2^k ranks first, and passes the sum under the
// lowest rank of the group, gets the same bits (pairwise summation, Higham 1993).
//
// The loops are vectors of the widest kind that the machine has (Highway chooses at run time),
// and the bits do not depend on it: element-wise throughout, float32 arithmetic that IEEE 754
// rounds in one way (+, -, *, /, sqrt), never fused, no flushing of subnormals. Only which NaN
// comes out where two meet is the machine's choice.
//
// Pure functions over the caller's memory, any thread. No allocation. Arrays are float32 of `n`
// elements, aligned to their elements; gradients may be halves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/optimizers/optimizer.hpp"

namespace tidegate::runtime::kernels {

// float16 is IEEE 754 binary16, bfloat16 the upper half of a float32. Both are read exactly.
enum class element : std::uint8_t { float32, float16, bfloat16 };

// Bytes of one element.
constexpr std::size_t size_of(element type) noexcept {
  return type == element::float32 ? 4 : 2;
}

// Gradients of one chunk, ascending in rank, each rank at most once. Types may differ.
struct gradient {
  const void* data = nullptr;
  std::uint32_t rank = 0;
  element type = element::float32;
};

// Whether gradients, which are float32 then, may have gaps (gaps.hpp).
enum class gaps : std::uint8_t { none, possible };

inline gaps gaps_of(const optimizer_options& options) noexcept {
  return options.lazy ? gaps::possible : gaps::none;
}

// How gradients become one: sums stand for all that is_sum() says. `rule`: of
// reduction::plugin, which this process has (runtime/functions/plugin_rules.hpp; asserted).
struct combination {
  gaps where = gaps::none;
  reduction by = reduction::sum;
  rule_name rule = {};
};

inline combination combination_of(const optimizer_options& options) noexcept {
  return {gaps_of(options), options.reduce, options.reduce_rule};
}

// out = tree sum of `inputs` (at least one). `out` may not overlap an input. Where gaps are
// possible, the sum may have some, too.
void tree_sum(std::span<const gradient> inputs, float* out, std::size_t n,
              gaps where = gaps::none);
// Likewise by another reduction, along the same tree.
void tree_reduce(std::span<const gradient> inputs, float* out, std::size_t n,
                 const combination& rule);

using optimizer = optimizer_options;
using runtime::beta_powers;
using runtime::optimizer_kind;

struct chunk_arrays {
  const float* before = nullptr;  // parameters
  float* after = nullptr;   // new parameters; the same array, or one that overlaps nothing
  float* state1 = nullptr;  // the optimizer's state, as many arrays as its traits say
  float* state2 = nullptr;
  std::size_t n = 0;
  float* sum = nullptr;  // tree_reduce(inputs) is left here, if anywhere; of several inputs
};

// One step with g = scale * tree_reduce(inputs, options.reduce), each element clipped as
// options.clip_value says, as the optimizer's header says (runtime/optimizers/NAME.hpp). The
// rate is options.learning_rate: options_at() has followed the schedule. `powers`: after the
// steps made so far. A NaN is not clipped. If options.lazy, gradients may have gaps, and an
// element whose sum is one keeps its parameter and its state. The rule of a plugin makes the
// step of a run of elements after the other.
void apply_update(const optimizer& options, beta_powers& powers,
                  std::span<const gradient> inputs, float scale, const chunk_arrays& arrays);

// Sets the parameters to tree_reduce(inputs), and leaves the state alone. `before` is read
// where the result has gaps, which keep their parameters.
void assign_sum(std::span<const gradient> inputs, const chunk_arrays& arrays,
                const combination& rule = {});

// Sum of the squares of the elements of scale * tree_sum(inputs), in float64: blocks of 256
// elements one after the other, each dealt to 32 numbers in turn, which are summed in a tree in
// the end. The bits depend on what those of tree_sum() do, and on where a chunk begins. A gap
// counts as 0. Returns 0 without inputs.
double squares_of_sum(std::span<const gradient> inputs, float scale, std::size_t n,
                      gaps where = gaps::none);

// Index of the first NaN or infinity among n elements, or n.
std::size_t first_not_finite(const void* data, element type, std::size_t n) noexcept;
inline std::size_t first_not_finite(const float* data, std::size_t n) noexcept {
  return first_not_finite(data, element::float32, n);
}

}  // namespace tidegate::runtime::kernels
