// Included by exactly the sources dense_baseline.cpp and dense_v3.cpp, which differ only in
// compiler flags and in TIDEGATE_DENSE_NAMESPACE. A source with its own -march also renames
// Eigen's namespace: inline functions of the two builds would otherwise have the same name, the
// linker would keep either one, and a CPU without AVX could be handed AVX code.

// GEMM packs its operands into scratch memory. Up to this size that is the stack; above it is
// malloc, once per product. The largest here, fc1 with a batch of 64, stays below.
#define EIGEN_STACK_ALLOCATION_LIMIT (2 * 1024 * 1024)
#define EIGEN_DONT_PARALLELIZE

#include <Eigen/Core>

#include "examples/fashion_mnist/dense.hpp"

namespace tidegate::examples::TIDEGATE_DENSE_NAMESPACE {

namespace {

using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using view = Eigen::Map<const matrix>;
using span = Eigen::Map<matrix>;

void forward(const dense_shape& s, const float* input, const float* weight, const float* bias,
             bool relu, float* output) {
  span(output, s.rows, s.out).noalias() =
      view(input, s.rows, s.in) * view(weight, s.out, s.in).transpose();
  for (std::size_t row = 0; row < s.rows; ++row) {
    float* line = output + row * s.out;
    for (std::size_t i = 0; i < s.out; ++i) line[i] += bias[i];
    if (!relu) continue;
    // `< 0 ?` and not max(0, x): NaN stays NaN, so that the shard can refuse the gradient.
    for (std::size_t i = 0; i < s.out; ++i) line[i] = line[i] < 0.0F ? 0.0F : line[i];
  }
}

// The sums over rows are loops and not Eigen reductions: those peel to an aligned address, so
// their order, and the last bits with it, would depend on where malloc put the buffer.
void gradients(const dense_shape& s, const float* input, const float* delta, float* weight_grad,
               float* bias_grad) {
  span(weight_grad, s.out, s.in).noalias() =
      view(delta, s.rows, s.out).transpose() * view(input, s.rows, s.in);
  for (std::size_t i = 0; i < s.out; ++i) bias_grad[i] = 0.0F;
  for (std::size_t row = 0; row < s.rows; ++row) {
    const float* line = delta + row * s.out;
    for (std::size_t i = 0; i < s.out; ++i) bias_grad[i] += line[i];
  }
}

void input_delta(const dense_shape& s, const float* input, const float* weight,
                 const float* delta, float* input_delta) {
  span(input_delta, s.rows, s.in).noalias() =
      view(delta, s.rows, s.out) * view(weight, s.out, s.in);
  const std::size_t size = std::size_t{s.rows} * s.in;
  for (std::size_t i = 0; i < size; ++i) {
    input_delta[i] = input[i] == 0.0F ? 0.0F : input_delta[i];
  }
}

}  // namespace

dense_kernels kernels() noexcept {
  // Eigen blocks its products by the cache sizes it finds, and blocking decides the order of
  // sums. Fixed sizes give the same bits on machines with other caches.
  Eigen::setCpuCacheSizes(32 * 1024, 512 * 1024, 4 * 1024 * 1024);
  return {.forward = forward, .gradients = gradients, .input_delta = input_delta};
}

}  // namespace tidegate::examples::TIDEGATE_DENSE_NAMESPACE
