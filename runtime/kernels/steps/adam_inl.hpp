// The step of runtime/optimizers/adam.hpp on vectors. Compiled once per vector width.
#if defined(TIDEGATE_KERNELS_ADAM_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TIDEGATE_KERNELS_ADAM_INL
#undef TIDEGATE_KERNELS_ADAM_INL
#else
#define TIDEGATE_KERNELS_ADAM_INL
#endif

#include <cstddef>

#include <hwy/highway.h>

#include "runtime/kernels/fused.hpp"
#include "runtime/kernels/steps/reduced_inl.hpp"
#include "runtime/kernels/vectors_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tidegate::runtime::kernels::HWY_NAMESPACE {

// The change of Adam, without the decay of AdamW.
template <class D>
HWY_INLINE hn::Vec<D> adam_change(D d, hn::Vec<D> sum, const chunk_arrays& at, std::size_t i,
                                  const coefficients& c) {
  const auto g = reduced(d, sum, c);
  const auto m = hn::Add(hn::Mul(hn::Set(d, c.beta1), hn::LoadU(d, at.state1 + i)),
                         hn::Mul(hn::Set(d, c.beta1_rest), g));
  const auto v = hn::Add(hn::Mul(hn::Set(d, c.beta2), hn::LoadU(d, at.state2 + i)),
                         hn::Mul(hn::Set(d, c.beta2_rest), hn::Mul(g, g)));
  hn::StoreU(m, d, at.state1 + i);
  hn::StoreU(v, d, at.state2 + i);
  return hn::Div(hn::Mul(hn::Set(d, c.rate), m), hn::Add(hn::Sqrt(v), hn::Set(d, c.epsilon)));
}

struct adam_step {
  static constexpr bool has_before = true;
  static constexpr int states = 2;
  coefficients c;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> sum, const chunk_arrays& at,
                                   std::size_t i) const {
    return hn::Sub(hn::LoadU(d, at.before + i), adam_change(d, sum, at, i, c));
  }
};

}  // namespace tidegate::runtime::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
