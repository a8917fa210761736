// The steps of optimizers on one vector of parameters, and the pass that makes them along a
// chunk. Compiled once per vector width, like vectors_inl.hpp.
#if defined(TIDEGATE_KERNELS_STEPS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TIDEGATE_KERNELS_STEPS_INL
#undef TIDEGATE_KERNELS_STEPS_INL
#else
#define TIDEGATE_KERNELS_STEPS_INL
#endif

#include <cstddef>
#include <cstdint>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "runtime/kernels/fused.hpp"
#include "runtime/kernels/steps/adagrad_inl.hpp"
#include "runtime/kernels/steps/adam_inl.hpp"
#include "runtime/kernels/steps/adamw_inl.hpp"
#include "runtime/kernels/steps/assign_inl.hpp"
#include "runtime/kernels/steps/momentum_inl.hpp"
#include "runtime/kernels/steps/nesterov_inl.hpp"
#include "runtime/kernels/steps/proximal_inl.hpp"
#include "runtime/kernels/steps/sgd_inl.hpp"
#include "runtime/kernels/vectors_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tidegate::runtime::kernels::HWY_NAMESPACE {

// Each step takes the tree sum of elements i and on, updates the state, and returns the new
// parameters. Mul and Add, never MulAdd: one rounding more, and the same on every machine.
struct sum_step {
  static constexpr bool has_before = false;
  static constexpr int states = 0;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D, hn::Vec<D> sum, const chunk_arrays&, std::size_t) const {
    return sum;
  }
};

// How far ahead of the arithmetic memory is asked for. The processor's own prefetching stops at
// the end of a page and loses track of many streams: with this, 2 inputs are some 8 % faster
// and 4 inputs some 15 %; 128 to 384 bytes do the same, 768 and more lose it again. One vector
// per turn, because reading several lines of one array at a time was up to a third slower.
constexpr std::size_t floats_ahead = 256 / sizeof(float);

template <class Step, class Sum>
HWY_INLINE void prefetch(const Sum& sum, const chunk_arrays& at, std::size_t i) {
  sum.prefetch(i);
  if constexpr (Step::has_before) hwy::Prefetch(at.before + i);
  if constexpr (Step::states >= 1) hwy::Prefetch(at.state1 + i);
  if constexpr (Step::states >= 2) hwy::Prefetch(at.state2 + i);
  if (at.after != at.before) hwy::Prefetch(at.after + i);
  if (at.sum != nullptr) hwy::Prefetch(at.sum + i);
}

template <class D, class Step, class Sum>
HWY_INLINE void step_at(D d, const Step& step, const Sum& sum, const chunk_arrays& at,
                        std::size_t i) {
  const auto inputs = sum(d, i);
  if (at.sum != nullptr) hn::StoreU(inputs, d, at.sum + i);
  hn::StoreU(step(d, inputs, at, i), d, at.after + i);
}

// Steps along the chunk. What is left of a vector at the ends goes one element at a time,
// through the same steps.
template <class Step, class Sum>
HWY_NOINLINE void pass(Step step, Sum sum, chunk_arrays at) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 1> single;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= at.n; i += lanes) {
    prefetch<Step>(sum, at, i + floats_ahead);
    step_at(d, step, sum, at, i);
  }
  for (; i < at.n; ++i) step_at(single, step, sum, at, i);
}

template <class Step, class Sum>
HWY_INLINE void step_or_keep(const Step& step, const Sum& sum, const chunk_arrays& at,
                             std::size_t i) {
  const hn::CappedTag<float, 1> single;
  const float total = hn::GetLane(sum(single, i));
  if (!is_gap(total)) return step_at(single, step, sum, at, i);
  at.after[i] = at.before[i];
  if (at.sum != nullptr) at.sum[i] = total;
}

// The same where the sum may have gaps: elements that are gaps keep their parameters. Most
// vectors have none, or nothing else.
template <class Step, class Sum>
HWY_NOINLINE void pass_around_gaps(Step step, Sum sum, chunk_arrays at) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= at.n; i += lanes) {
    prefetch<Step>(sum, at, i + floats_ahead);
    const auto total = sum(d, i);
    const auto gaps = gaps_of(d, total);
    if (hn::AllFalse(d, gaps)) {
      if (at.sum != nullptr) hn::StoreU(total, d, at.sum + i);
      hn::StoreU(step(d, total, at, i), d, at.after + i);
    } else if (hn::AllTrue(d, gaps)) {
      if (at.sum != nullptr) hn::StoreU(total, d, at.sum + i);
      if (at.after != at.before) hn::StoreU(hn::LoadU(d, at.before + i), d, at.after + i);
    } else {
      for (std::size_t k = i; k < i + lanes; ++k) step_or_keep(step, sum, at, k);
    }
  }
  for (; i < at.n; ++i) step_or_keep(step, sum, at, i);
}

}  // namespace tidegate::runtime::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
