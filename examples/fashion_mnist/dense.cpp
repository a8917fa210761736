#include "examples/fashion_mnist/dense.hpp"

namespace tidegate::examples {

namespace {

bool v3_works() noexcept {
#ifdef TIDEGATE_DENSE_V3
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi2");
#else
  return false;
#endif
}

}  // namespace

expected<dense_kernels> select_kernels(simd_level level) {
  const bool v3 = v3_works();
  if (level == simd_level::v3 && !v3) {
    return fail(errc::unavailable,
                "--simd v3 needs an x86-64 CPU with AVX2 and FMA; use --simd auto");
  }
#ifdef TIDEGATE_DENSE_V3
  if (v3 && level != simd_level::baseline) return dense_v3::kernels();
#endif
  return dense_baseline::kernels();
}

}  // namespace tidegate::examples
