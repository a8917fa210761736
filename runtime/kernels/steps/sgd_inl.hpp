// The step of runtime/optimizers/sgd.hpp on vectors. Compiled once per vector width.
#if defined(TIDEGATE_KERNELS_SGD_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TIDEGATE_KERNELS_SGD_INL
#undef TIDEGATE_KERNELS_SGD_INL
#else
#define TIDEGATE_KERNELS_SGD_INL
#endif

#include <cstddef>

#include <hwy/highway.h>

#include "runtime/kernels/fused.hpp"
#include "runtime/kernels/steps/reduced_inl.hpp"
#include "runtime/kernels/vectors_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tidegate::runtime::kernels::HWY_NAMESPACE {

struct sgd_step {
  static constexpr bool has_before = true;
  static constexpr int states = 0;
  coefficients c;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> sum, const chunk_arrays& at,
                                   std::size_t i) const {
    const auto g = reduced(d, sum, c);
    return hn::Sub(hn::LoadU(d, at.before + i), hn::Mul(hn::Set(d, c.rate), g));
  }
};

}  // namespace tidegate::runtime::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
