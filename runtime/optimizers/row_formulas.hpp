// The formulas of row optimizers, for CPU and GPU: what the vectors of runtime/rows and the
// kernels of runtime/kernels/cuda do with the same roundings. SGD, AdaGrad, Adam and the
// proximal step are those of this folder's other headers. Adam is lazy: a row that is not
// pushed to keeps its moments, and the correction of both biases is that of the table's clock
// (as torch.optim.SparseAdam). The others:
//
// rowwise_adagrad   n += mean of g^2 over the row; w -= lr g / (sqrt(n) + epsilon). One number
//                   of state per row. As in FBGEMM (Khudia et al. 2021, rowwise_adagrad) and
//                   TorchRec (Ivchenko et al. 2022).
// ftrl              z += g - (sqrt(n + g^2) - sqrt(n)) / lr w; n += g^2;
//                   w = 0 where |z| <= l1, else -(z - sign(z) l1) / ((beta + sqrt(n)) / lr +
//                   l2). FTRL-Proximal (McMahan et al. 2013, algorithm 1). State: z of all
//                   columns, then n.
// group_adagrad     z and n likewise; s = z - sign(z) l1 where |z| > l1, else 0;
//                   w = 0 where |s| <= sqrt(dim) l21 over the row, else
//                   -(1 - sqrt(dim) l21 / |s|) s / ((epsilon + sqrt(n)) / lr + 2 l2).
//                   Group AdaGrad (Yue et al., ECML-PKDD 2021, "Adaptive Optimizers with Sparse
//                   Group Lasso", algorithm 1 with the row as group).
//
// Sums over a row are in float64 and in one order, whatever the width of a vector: as
// squares_of_sum() in runtime/kernels/update.hpp has it for a block.
//
// Pure functions, any thread.
#pragma once

#include <cmath>
#include <cstdint>

#include "runtime/base/host_device.hpp"

namespace tidegate::runtime {

// What these formulas need, worked out once for all rows of a step.
struct row_numbers {
  float rate = 0;     // step_rates
  float epsilon = 0;  // what is added to the root of a row's mean square
  float beta = 0;     // what is added to the root of a column's squares
  float l1 = 0;
  float l2 = 0;         // what is added to the divisor
  float row_bound = 0;  // l21 times the root of the number of columns
};

// z without what l1 takes of it. A NaN stays.
TIDEGATE_HOST_DEVICE inline float shrunk(float z, float l1) {
  return std::abs(z) <= l1 ? 0.0F : z - std::copysign(l1, z);
}

TIDEGATE_HOST_DEVICE inline float divisor(const row_numbers& c, float n) {
  return (c.beta + std::sqrt(n)) / c.rate + c.l2;
}

// The value of what is left of z; 0 of nothing, whatever divides it. A NaN stays.
TIDEGATE_HOST_DEVICE inline float left_over(float s, float divisor) {
  return s == 0.0F ? 0.0F : (0.0F - s) / divisor;
}

// Adds a gradient to z and n.
TIDEGATE_HOST_DEVICE inline void accumulate(const row_numbers& c, float g, float w, float& z,
                                            float& n) {
  const float squares = n + g * g;
  const float change = (std::sqrt(squares) - std::sqrt(n)) / c.rate;
  z = (z + g) - change * w;
  n = squares;
}

// The share of s that the bound on the whole row leaves, of the sum of the squares of s.
TIDEGATE_HOST_DEVICE inline float row_share(const row_numbers& c, double squares) {
  const auto norm = static_cast<float>(std::sqrt(squares));
  return norm <= c.row_bound ? 0.0F : 1.0F - c.row_bound / norm;
}

// What each gradient of a row is multiplied by; adds the mean of their squares to n.
TIDEGATE_HOST_DEVICE inline float rowwise_rate(const row_numbers& c, double squares,
                                               std::uint32_t columns, float& n) {
  n = n + static_cast<float>(squares / static_cast<double>(columns));
  return c.rate / (std::sqrt(n) + c.epsilon);
}

}  // namespace tidegate::runtime
