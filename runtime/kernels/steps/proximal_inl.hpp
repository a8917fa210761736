// The step of runtime/optimizers/proximal.hpp on vectors. Compiled once per vector width.
#if defined(TIDEGATE_KERNELS_PROXIMAL_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TIDEGATE_KERNELS_PROXIMAL_INL
#undef TIDEGATE_KERNELS_PROXIMAL_INL
#else
#define TIDEGATE_KERNELS_PROXIMAL_INL
#endif

#include <cstddef>

#include <hwy/highway.h>

#include "runtime/kernels/fused.hpp"
#include "runtime/kernels/steps/reduced_inl.hpp"
#include "runtime/kernels/vectors_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tidegate::runtime::kernels::HWY_NAMESPACE {

struct proximal_step {
  static constexpr bool has_before = true;
  static constexpr int states = 0;
  coefficients c;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> sum, const chunk_arrays& at,
                                   std::size_t i) const {
    const auto g = reduced(d, sum, c);
    const auto reach = hn::Set(d, c.rate * c.l1);
    const auto moved = hn::Sub(hn::LoadU(d, at.before + i), hn::Mul(hn::Set(d, c.rate), g));
    const auto is_zero = hn::And(hn::Ge(moved, hn::Neg(reach)), hn::Le(moved, reach));
    const auto nearer = hn::IfThenElse(hn::Gt(moved, hn::Zero(d)), hn::Sub(moved, reach),
                                       hn::Add(moved, reach));
    const auto shrunk = hn::Div(nearer, hn::Set(d, 1.0F + c.rate * c.l2));
    return hn::IfThenZeroElse(is_zero, shrunk);
  }
};

}  // namespace tidegate::runtime::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
