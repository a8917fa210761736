// The step of runtime/optimizers/adamw.hpp on vectors. Compiled once per vector width.
#if defined(TIDEGATE_KERNELS_ADAMW_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TIDEGATE_KERNELS_ADAMW_INL
#undef TIDEGATE_KERNELS_ADAMW_INL
#else
#define TIDEGATE_KERNELS_ADAMW_INL
#endif

#include <cstddef>

#include <hwy/highway.h>

#include "runtime/kernels/fused.hpp"
#include "runtime/kernels/steps/adam_inl.hpp"
#include "runtime/kernels/vectors_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tidegate::runtime::kernels::HWY_NAMESPACE {

struct adamw_step {
  static constexpr bool has_before = true;
  static constexpr int states = 2;
  coefficients c;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> sum, const chunk_arrays& at,
                                   std::size_t i) const {
    const auto w = hn::Mul(hn::LoadU(d, at.before + i), hn::Set(d, c.kept));
    return hn::Sub(w, adam_change(d, sum, at, i, c));
  }
};

}  // namespace tidegate::runtime::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
