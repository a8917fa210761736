// Gradients of any element type as vectors of float32. Compiled once per vector width.
// (No include guard of the usual kind: foreach_target.h includes this again for each.)
#if defined(TIDEGATE_KERNELS_VECTORS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TIDEGATE_KERNELS_VECTORS_INL
#undef TIDEGATE_KERNELS_VECTORS_INL
#else
#define TIDEGATE_KERNELS_VECTORS_INL
#endif

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "runtime/kernels/gaps.hpp"
#include "runtime/kernels/update.hpp"

HWY_BEFORE_NAMESPACE();
namespace tidegate::runtime::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <element Type>
using stored = std::conditional_t<Type == element::float32, float, std::uint16_t>;

// Whether PromoteTo of float16 is the instruction. Where it is not, Highway 1.0 takes
// infinities and NaN for numbers.
#undef TIDEGATE_HALF_IS_NATIVE
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
#define TIDEGATE_HALF_IS_NATIVE 1
#else
#define TIDEGATE_HALF_IS_NATIVE 0
#endif

template <class D>
HWY_INLINE hn::Vec<D> load_half(D d, const std::uint16_t* at) {
#if TIDEGATE_HALF_IS_NATIVE
  const hn::Rebind<hwy::float16_t, D> halves;
  return hn::PromoteTo(d, hn::LoadU(halves, reinterpret_cast<const hwy::float16_t*>(at)));
#else
  const hn::RebindToUnsigned<D> u;
  const hn::RebindToSigned<D> s;
  const auto bits = hn::PromoteTo(u, hn::LoadU(hn::Rebind<std::uint16_t, D>(), at));
  const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(u, 0x8000)));
  const auto size = hn::And(bits, hn::Set(u, 0x7fff));
  const auto shifted = hn::ShiftLeft<13>(size);
  const auto normal = hn::Add(shifted, hn::Set(u, (127u - 15u) << 23));
  // A subnormal is a small integer times 2^-24, which is exact.
  const auto subnormal = hn::BitCast(
      u, hn::Mul(hn::ConvertTo(d, hn::BitCast(s, size)), hn::Set(d, 1.0F / (1 << 24))));
  // The instruction makes a signalling NaN quiet, and so does this.
  const auto special = hn::Or(shifted, hn::Set(u, 0x7f80'0000));
  const auto nan = hn::Or(special, hn::Set(u, 0x0040'0000));
  // Compared as signed: all are below 2^15, and the narrow vectors have no other comparison.
  const auto signed_size = hn::BitCast(s, size);
  const auto below = [&](int bound) HWY_ATTR {
    return hn::BitCast(u, hn::VecFromMask(s, hn::Lt(signed_size, hn::Set(s, bound))));
  };
  const auto is_subnormal = below(0x0400);
  const auto is_finite = below(0x7c00);
  const auto is_number = below(0x7c01);
  const auto finite =
      hn::Or(hn::And(is_subnormal, subnormal), hn::AndNot(is_subnormal, normal));
  const auto other = hn::Or(hn::And(is_number, special), hn::AndNot(is_number, nan));
  return hn::BitCast(
      d, hn::Or(sign, hn::Or(hn::And(is_finite, finite), hn::AndNot(is_finite, other))));
#endif
}

template <element Type, class D>
HWY_INLINE hn::Vec<D> load(D d, const stored<Type>* at) {
  if constexpr (Type == element::float32) {
    return hn::LoadU(d, at);
  } else if constexpr (Type == element::bfloat16) {
    const hn::RebindToUnsigned<D> u;
    const auto bits = hn::PromoteTo(u, hn::LoadU(hn::Rebind<std::uint16_t, D>(), at));
    return hn::BitCast(d, hn::ShiftLeft<16>(bits));
  } else {
    return load_half(d, at);
  }
}

// Which elements are gaps. Compared as numbers they are equal to nothing.
template <class D>
HWY_INLINE hn::Mask<D> gaps_of(D d, hn::Vec<D> x) {
  const hn::RebindToUnsigned<D> u;
  return hn::RebindMask(d, hn::Eq(hn::BitCast(u, x), hn::Set(u, gap_bits)));
}

template <class D>
HWY_INLINE hn::Vec<D> add_around_gaps(D d, hn::Vec<D> x, hn::Vec<D> y) {
  const auto sum = hn::IfThenElse(gaps_of(d, y), x, hn::Add(x, y));
  return hn::IfThenElse(gaps_of(d, x), y, sum);
}

// The tree over `Count` arrays of one type, in registers.
template <element Type, std::size_t Count>
struct dense_sum {
  const stored<Type>* data[Count];

  template <std::size_t First, std::size_t N, class D>
  HWY_INLINE hn::Vec<D> range(D d, std::size_t i) const {
    if constexpr (N == 1) {
      return load<Type>(d, data[First] + i);
    } else {
      constexpr std::size_t left = std::size_t{1} << (std::bit_width(N - 1) - 1);
      return hn::Add(range<First, left>(d, i), range<First + left, N - left>(d, i));
    }
  }
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, std::size_t i) const {
    return range<0, Count>(d, i);
  }
  HWY_INLINE void prefetch(std::size_t i) const {
    for (std::size_t k = 0; k < Count; ++k) hwy::Prefetch(data[k] + i);
  }
};

// The same tree over arrays of float32 that may have gaps.
template <std::size_t Count>
struct gapped_sum {
  const float* data[Count];

  template <std::size_t First, std::size_t N, class D>
  HWY_INLINE hn::Vec<D> range(D d, std::size_t i) const {
    if constexpr (N == 1) {
      return hn::LoadU(d, data[First] + i);
    } else {
      constexpr std::size_t left = std::size_t{1} << (std::bit_width(N - 1) - 1);
      return add_around_gaps(d, range<First, left>(d, i), range<First + left, N - left>(d, i));
    }
  }
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, std::size_t i) const {
    return range<0, Count>(d, i);
  }
  HWY_INLINE void prefetch(std::size_t i) const {
    for (std::size_t k = 0; k < Count; ++k) hwy::Prefetch(data[k] + i);
  }
};

// Two arrays, each of its own type.
template <element A, element B>
struct pair_sum {
  const stored<A>* a;
  const stored<B>* b;

  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, std::size_t i) const {
    return hn::Add(load<A>(d, a + i), load<B>(d, b + i));
  }
  HWY_INLINE void prefetch(std::size_t i) const {
    hwy::Prefetch(a + i);
    hwy::Prefetch(b + i);
  }
};

}  // namespace tidegate::runtime::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
