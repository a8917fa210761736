// Sum of the workers' gradients and one optimizer step over a chunk.
//
// The sum follows one canonical balanced binary tree over worker ranks: the tree over ranks
// [lo, hi) is the tree over the largest aligned power of two below, plus the rest. A rank that
// pushed nothing is not there; its sibling takes its parent's place. The bits of the result
// depend on the set of (rank, gradient) pairs alone, not on chunking, threads or order of
// arrival; whoever sums an aligned group of 2^k ranks first gets the same bits (pairwise
// summation, Higham 1993). Element-wise throughout, so the vector width of the machine does not
// matter either.
//
// Pure functions over the caller's memory, any thread. Arrays are float32 of `n` elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tidegate::runtime::kernels {

// Gradients of one chunk, ascending in rank, each rank at most once.
struct gradient {
  const float* data = nullptr;
  std::uint32_t rank = 0;
};

// out = tree sum of `inputs` (at least one). `out` may not overlap an input.
void tree_sum(std::span<const gradient> inputs, float* out, std::size_t n);

enum class optimizer_kind : std::uint8_t { sgd, momentum, adam };

struct optimizer {
  optimizer_kind kind = optimizer_kind::sgd;
  float learning_rate = 0.01F;
  float momentum = 0.9F;
  float beta1 = 0.9F;
  float beta2 = 0.999F;
  float epsilon = 1e-8F;
};

// Float arrays of state per parameter: 0 (sgd), 1 (momentum), 2 (adam).
std::size_t state_arrays(optimizer_kind kind) noexcept;

// Powers of Adam's betas after the steps made so far; 1 before the first.
struct adam_powers {
  double beta1 = 1.0;
  double beta2 = 1.0;
};

struct chunk_arrays {
  const float* before = nullptr;  // parameters
  float* after = nullptr;         // new parameters; may be the same array
  float* state1 = nullptr;        // velocity (momentum), first moment (adam)
  float* state2 = nullptr;        // second moment (adam)
  std::size_t n = 0;
};

// One step with g = scale * tree_sum(inputs):
//   sgd       w -= lr g
//   momentum  v = mu v + g;  w -= lr v                       (Polyak 1964, as in common
//   frameworks) adam      m, v moments;  w -= lr_t m / (sqrt(v) + eps)   (Kingma & Ba 2015, end
//   of section 2)
void apply_update(const optimizer& how, adam_powers& powers, std::span<const gradient> inputs,
                  float scale, const chunk_arrays& arrays);

// Index of the first NaN or infinity, or n.
std::size_t first_not_finite(const float* data, std::size_t n) noexcept;

}  // namespace tidegate::runtime::kernels
