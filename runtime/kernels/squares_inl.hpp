// Sums of squares, dealt to numbers in turn as fused.hpp says. Compiled once per vector width.
#if defined(TIDEGATE_KERNELS_SQUARES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TIDEGATE_KERNELS_SQUARES_INL
#undef TIDEGATE_KERNELS_SQUARES_INL
#else
#define TIDEGATE_KERNELS_SQUARES_INL
#endif

#include <cstddef>

#include <hwy/highway.h>

#include "runtime/kernels/fused.hpp"

HWY_BEFORE_NAMESPACE();
namespace tidegate::runtime::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class D, class DF>
HWY_INLINE hn::Vec<D> square(D d, DF df, const float* data, hn::Vec<DF> scale) {
  const auto x = hn::PromoteTo(d, hn::Mul(scale, hn::LoadU(df, data)));
  return hn::Mul(x, x);
}

// Whole rows of `square_sums` elements, in bands of four vectors, so that four additions are
// under way at a time.
inline std::size_t add_rows(const float* data, float factor, std::size_t n, double* sums) {
  const hn::CappedTag<double, square_sums / 4> d;
  const hn::Rebind<float, decltype(d)> df;
  const auto lanes = hn::Lanes(d);
  const auto scale = hn::Set(df, factor);
  const auto end = n - n % square_sums;
  for (std::size_t band = 0; band < square_sums; band += 4 * lanes) {
    auto a = hn::LoadU(d, sums + band);
    auto b = hn::LoadU(d, sums + band + lanes);
    auto c = hn::LoadU(d, sums + band + 2 * lanes);
    auto e = hn::LoadU(d, sums + band + 3 * lanes);
    for (std::size_t i = band; i < end; i += square_sums) {
      a = hn::Add(a, square(d, df, data + i, scale));
      b = hn::Add(b, square(d, df, data + i + lanes, scale));
      c = hn::Add(c, square(d, df, data + i + 2 * lanes, scale));
      e = hn::Add(e, square(d, df, data + i + 3 * lanes, scale));
    }
    hn::StoreU(a, d, sums + band);
    hn::StoreU(b, d, sums + band + lanes);
    hn::StoreU(c, d, sums + band + 2 * lanes);
    hn::StoreU(e, d, sums + band + 3 * lanes);
  }
  return end;
}

// Adds the squares of factor * data[0, n) to `sums`, which are square_sums numbers.
inline void add_squares_of(const float* data, float factor, std::size_t n, double* sums) {
  for (auto i = add_rows(data, factor, n, sums); i < n; ++i) {
    const double x = factor * data[i];
    sums[i % square_sums] += x * x;
  }
}

}  // namespace tidegate::runtime::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
