// The step of runtime/optimizers/momentum.hpp on vectors. Compiled once per vector width.
#if defined(TIDEGATE_KERNELS_MOMENTUM_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TIDEGATE_KERNELS_MOMENTUM_INL
#undef TIDEGATE_KERNELS_MOMENTUM_INL
#else
#define TIDEGATE_KERNELS_MOMENTUM_INL
#endif

#include <cstddef>

#include <hwy/highway.h>

#include "runtime/kernels/fused.hpp"
#include "runtime/kernels/steps/reduced_inl.hpp"
#include "runtime/kernels/vectors_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tidegate::runtime::kernels::HWY_NAMESPACE {

// Returns the velocity after the gradient, and keeps it.
template <class D>
HWY_INLINE hn::Vec<D> next_velocity(D d, hn::Vec<D> g, const chunk_arrays& at, std::size_t i,
                                    const coefficients& c) {
  const auto v = hn::Add(hn::Mul(hn::Set(d, c.momentum), hn::LoadU(d, at.state1 + i)), g);
  hn::StoreU(v, d, at.state1 + i);
  return v;
}

struct momentum_step {
  static constexpr bool has_before = true;
  static constexpr int states = 1;
  coefficients c;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> sum, const chunk_arrays& at,
                                   std::size_t i) const {
    const auto v = next_velocity(d, reduced(d, sum, c), at, i, c);
    return hn::Sub(hn::LoadU(d, at.before + i), hn::Mul(hn::Set(d, c.rate), v));
  }
};

}  // namespace tidegate::runtime::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
