#include "runtime/kernels/gaps.hpp"

#include <algorithm>

// Compiles this file once per vector width.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/gaps.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include "runtime/kernels/vectors_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tidegate::runtime::kernels::HWY_NAMESPACE {
namespace {

void add_around_gaps_here(const float* a, const float* b, float* out, std::size_t n) {
  const hn::ScalableTag<float> d;
  const auto lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(add_around_gaps(d, hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, out + i);
  for (; i < n; ++i) out[i] = sum_around_gaps(a[i], b[i]);
}

}  // namespace
}  // namespace tidegate::runtime::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tidegate::runtime::kernels {

namespace {
HWY_EXPORT(add_around_gaps_here);
}  // namespace

void fill_with_gaps(std::span<float> elements) noexcept {
  std::fill(elements.begin(), elements.end(), gap());
}

void add_around_gaps(const float* a, const float* b, float* out, std::size_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(add_around_gaps_here)(a, b, out, n);
}

}  // namespace tidegate::runtime::kernels
#endif
