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

// out = tree sum of `inputs` (at least one). `out` may not overlap an input.
void tree_sum(std::span<const gradient> inputs, float* out, std::size_t n);

enum class optimizer_kind : std::uint8_t { sgd, momentum, adam, nesterov, adagrad, adamw };

struct optimizer {
  optimizer_kind kind = optimizer_kind::sgd;
  float learning_rate = 0.01F;
  float momentum = 0.9F;      // momentum, nesterov
  float beta1 = 0.9F;         // adam, adamw
  float beta2 = 0.999F;       // adam, adamw
  float epsilon = 1e-8F;      // adam, adamw, adagrad
  float weight_decay = 0.0F;  // adamw
};

// Float arrays of state per parameter: 0 (sgd), 1 (momentum, nesterov, adagrad), 2 (adam,
// adamw).
std::size_t state_arrays(optimizer_kind kind) noexcept;

// Powers of Adam's betas after the steps made so far; 1 before the first.
struct adam_powers {
  double beta1 = 1.0;
  double beta2 = 1.0;
};

struct chunk_arrays {
  const float* before = nullptr;  // parameters
  float* after = nullptr;   // new parameters; the same array, or one that overlaps nothing
  float* state1 = nullptr;  // velocity, sum of squares (adagrad), first moment (adam)
  float* state2 = nullptr;  // second moment (adam)
  std::size_t n = 0;
  float* sum = nullptr;  // tree_sum(inputs) is left here, if anywhere; of several inputs
};

// One step with g = scale * tree_sum(inputs):
//   sgd       w -= lr g
//   momentum  v = mu v + g;  w -= lr v             (Polyak 1964, as in common frameworks)
//   nesterov  v = mu v + g;  w -= lr (g + mu v)    (Sutskever et al. 2013, section 2, in the
//             form of common frameworks: w is the point looked ahead to)
//   adagrad   s += g g;  w -= lr g / (sqrt(s) + eps)  (Duchi et al. 2011, figure 1, diagonal)
//   adam      m, v moments;  w -= lr_t m / (sqrt(v) + eps)  (Kingma & Ba 2015, end of section
//             2, where lr_t has the correction of both biases)
//   adamw     as adam, of w (1 - lr wd)  (decoupled weight decay: Loshchilov & Hutter 2019,
//             algorithm 2; the decay follows lr, as in common frameworks)
void apply_update(const optimizer& options, adam_powers& powers,
                  std::span<const gradient> inputs, float scale, const chunk_arrays& arrays);

// Index of the first NaN or infinity among n elements, or n.
std::size_t first_not_finite(const void* data, element type, std::size_t n) noexcept;
inline std::size_t first_not_finite(const float* data, std::size_t n) noexcept {
  return first_not_finite(data, element::float32, n);
}

}  // namespace tidegate::runtime::kernels
