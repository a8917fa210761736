// The arithmetic of a dense layer, compiled once per instruction set and chosen at run time.
//
// All matrices are row-major float32. Results depend on the instruction set that was chosen
// (wider vectors sum in another order), never on thread, address or the size of the machine's
// caches. Plain functions on the caller's memory; they keep nothing and, for the sizes of this
// example, do not allocate.
#pragma once

#include <cstdint>

#include <tidegate/status.hpp>

namespace tidegate::examples {

struct dense_shape {
  std::uint32_t rows = 0;  // of the batch
  std::uint32_t in = 0;
  std::uint32_t out = 0;
};

struct dense_kernels {
  // output[rows, out] = input[rows, in] * weight[out, in]^T + bias[out], then max(0, .) if
  // `relu`.
  void (*forward)(const dense_shape&, const float* input, const float* weight,
                  const float* bias, bool relu, float* output);
  // weight_grad[out, in] = delta[rows, out]^T * input[rows, in]; bias_grad[out] = sum of
  // delta's rows.
  void (*gradients)(const dense_shape&, const float* input, const float* delta,
                    float* weight_grad, float* bias_grad);
  // input_delta[rows, in] = delta * weight, and 0 where `input` (an output of ReLU) is 0.
  void (*input_delta)(const dense_shape&, const float* input, const float* weight,
                      const float* delta, float* input_delta);
};

enum class simd_level { baseline, v3, automatic };

// v3 is x86-64-v3: AVX2 and FMA. Errors: unavailable (this CPU or this build has no v3).
expected<dense_kernels> select_kernels(simd_level level);

namespace dense_baseline {
dense_kernels kernels() noexcept;
}
namespace dense_v3 {
dense_kernels kernels() noexcept;
}

}  // namespace tidegate::examples
