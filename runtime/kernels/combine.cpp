#include "runtime/kernels/combine.hpp"

#include "runtime/base/assert.hpp"

// Compiles this file once per vector width.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/combine.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include "runtime/kernels/vectors_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tidegate::runtime::kernels::HWY_NAMESPACE {
namespace {

// Each says with the same comparison what a vector and what an element becomes.
struct larger {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V b) const {
    return hn::IfThenElse(hn::Gt(a, b), a, b);
  }
  float operator()(float a, float b) const { return a > b ? a : b; }
};

struct smaller {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V b) const {
    return hn::IfThenElse(hn::Lt(a, b), a, b);
  }
  float operator()(float a, float b) const { return a < b ? a : b; }
};

struct times {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V b) const {
    return hn::Mul(a, b);
  }
  float operator()(float a, float b) const { return a * b; }
};

struct first_true {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    return hn::IfThenElse(hn::Ne(a, hn::Zero(d)), a, b);
  }
  float operator()(float a, float b) const { return a != 0.0F ? a : b; }
};

struct last_if_all_true {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    return hn::IfThenElse(hn::Eq(a, hn::Zero(d)), a, b);
  }
  float operator()(float a, float b) const { return a == 0.0F ? a : b; }
};

template <class Combine>
struct around_gaps {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    const auto gaps = hn::Set(hn::RebindToUnsigned<D>(), gap_bits);
    const hn::RebindToUnsigned<D> bits;
    const auto no_a = hn::RebindMask(d, hn::Eq(hn::BitCast(bits, a), gaps));
    const auto no_b = hn::RebindMask(d, hn::Eq(hn::BitCast(bits, b), gaps));
    return hn::IfThenElse(no_a, b, hn::IfThenElse(no_b, a, Combine()(d, a, b)));
  }
  float operator()(float a, float b) const {
    if (is_gap(a)) return b;
    return is_gap(b) ? a : Combine()(a, b);
  }
};

template <class Combine>
void combine_with(const float* a, const float* b, float* out, std::size_t n) {
  const hn::ScalableTag<float> d;
  const auto lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(Combine()(d, hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, out + i);
  for (; i < n; ++i) out[i] = Combine()(a[i], b[i]);
}

template <class Combine>
void combine_by(gaps where, const float* a, const float* b, float* out, std::size_t n) {
  where == gaps::possible ? combine_with<around_gaps<Combine>>(a, b, out, n)
                          : combine_with<Combine>(a, b, out, n);
}

void combine_here(const combination& rule, const float* a, const float* b, float* out,
                  std::size_t n) {
  switch (rule.by) {
    case reduction::max:
      return combine_by<larger>(rule.where, a, b, out, n);
    case reduction::min:
      return combine_by<smaller>(rule.where, a, b, out, n);
    case reduction::product:
      return combine_by<times>(rule.where, a, b, out, n);
    case reduction::any:
      return combine_by<first_true>(rule.where, a, b, out, n);
    case reduction::all:
      return combine_by<last_if_all_true>(rule.where, a, b, out, n);
    case reduction::of_job:
    case reduction::mean:
    case reduction::sum:
    case reduction::plugin:
      break;
  }
  TIDEGATE_ASSERT(false, "a reduction that is neither a sum nor a plugin's");
}

}  // namespace
}  // namespace tidegate::runtime::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tidegate::runtime::kernels {

namespace {
HWY_EXPORT(combine_here);
}  // namespace

void combine(const combination& rule, const float* a, const float* b, float* out,
             std::size_t n) {
  HWY_DYNAMIC_DISPATCH(combine_here)(rule, a, b, out, n);
}

}  // namespace tidegate::runtime::kernels
#endif
