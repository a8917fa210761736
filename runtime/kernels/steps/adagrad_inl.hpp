// The step of runtime/optimizers/adagrad.hpp on vectors. Compiled once per vector width.
#if defined(TIDEGATE_KERNELS_ADAGRAD_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TIDEGATE_KERNELS_ADAGRAD_INL
#undef TIDEGATE_KERNELS_ADAGRAD_INL
#else
#define TIDEGATE_KERNELS_ADAGRAD_INL
#endif

#include <cstddef>

#include <hwy/highway.h>

#include "runtime/kernels/fused.hpp"
#include "runtime/kernels/steps/reduced_inl.hpp"
#include "runtime/kernels/vectors_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tidegate::runtime::kernels::HWY_NAMESPACE {

struct adagrad_step {
  static constexpr bool has_before = true;
  static constexpr int states = 1;
  coefficients c;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> sum, const chunk_arrays& at,
                                   std::size_t i) const {
    const auto g = reduced(d, sum, c);
    const auto s = hn::Add(hn::LoadU(d, at.state1 + i), hn::Mul(g, g));
    hn::StoreU(s, d, at.state1 + i);
    const auto change =
        hn::Div(hn::Mul(hn::Set(d, c.rate), g), hn::Add(hn::Sqrt(s), hn::Set(d, c.epsilon)));
    return hn::Sub(hn::LoadU(d, at.before + i), change);
  }
};

}  // namespace tidegate::runtime::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
