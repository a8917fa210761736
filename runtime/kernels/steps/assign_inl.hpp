// The step of runtime/optimizers/assign.hpp on vectors. Compiled once per vector width.
#if defined(TIDEGATE_KERNELS_ASSIGN_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TIDEGATE_KERNELS_ASSIGN_INL
#undef TIDEGATE_KERNELS_ASSIGN_INL
#else
#define TIDEGATE_KERNELS_ASSIGN_INL
#endif

#include <cstddef>

#include <hwy/highway.h>

#include "runtime/kernels/fused.hpp"
#include "runtime/kernels/steps/reduced_inl.hpp"
#include "runtime/kernels/vectors_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tidegate::runtime::kernels::HWY_NAMESPACE {

struct assign_step {
  static constexpr bool has_before = false;
  static constexpr int states = 0;
  coefficients c;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> sum, const chunk_arrays&,
                                   std::size_t) const {
    return hn::Mul(hn::Set(d, c.rate), reduced(d, sum, c));
  }
};

}  // namespace tidegate::runtime::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
