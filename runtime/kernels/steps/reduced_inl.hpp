// The gradient that a step is made with, of the sum of what workers pushed: reduced.hpp on
// vectors. Compiled once per vector width.
#if defined(TIDEGATE_KERNELS_REDUCED_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TIDEGATE_KERNELS_REDUCED_INL
#undef TIDEGATE_KERNELS_REDUCED_INL
#else
#define TIDEGATE_KERNELS_REDUCED_INL
#endif

#include <hwy/highway.h>

#include "runtime/kernels/fused.hpp"
#include "runtime/kernels/vectors_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tidegate::runtime::kernels::HWY_NAMESPACE {

// Scaled, and brought into [-limit, limit], with the roundings of the scalar form. Min and Max
// drop a NaN on some machines.
template <class D>
HWY_INLINE hn::Vec<D> reduced(D d, hn::Vec<D> sum, const coefficients& c) {
  const auto g = hn::Mul(hn::Set(d, c.scale), sum);
  // A branch that is foreseen costs less than what it leaves out.
  if (HWY_LIKELY(c.limit == 0)) return g;
  const auto most = hn::Set(d, c.limit);
  const auto least = hn::Neg(most);
  return hn::IfThenElse(hn::Gt(g, most), most, hn::IfThenElse(hn::Lt(g, least), least, g));
}

}  // namespace tidegate::runtime::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
