#include "runtime/kernels/update.hpp"

// Compiles this file once per vector width.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/finite.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/cache_control.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tidegate::runtime::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// The first of n numbers that has all bits of `exponent`, or n.
template <class Bits>
std::size_t first_with(const Bits* data, std::size_t n, Bits exponent) {
  constexpr std::size_t block = 1024;  // elements between looks at the verdict
  const hn::ScalableTag<Bits> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto mask = hn::Set(d, exponent);
  std::size_t i = 0;
  while (i + lanes <= n) {
    const std::size_t start = i;
    const std::size_t end = n - i < block ? n : i + block;
    auto found = hn::Zero(d);
    for (; i + lanes <= end; i += lanes) {
      hwy::Prefetch(data + i + 1024 / sizeof(Bits));
      const auto bits = hn::And(hn::LoadU(d, data + i), mask);
      found = hn::Or(found, hn::VecFromMask(d, hn::Eq(bits, mask)));
    }
    if (hn::AllTrue(d, hn::Eq(found, hn::Zero(d)))) continue;
    i = start;
    break;
  }
  for (; i < n; ++i)
    if ((data[i] & exponent) == exponent) return i;
  return n;
}

std::size_t first_here(const void* data, element type, std::size_t n) {
  switch (type) {
    case element::float32:
      return first_with(static_cast<const std::uint32_t*>(data), n, std::uint32_t{0x7f80'0000});
    case element::float16:
      return first_with(static_cast<const std::uint16_t*>(data), n, std::uint16_t{0x7c00});
    case element::bfloat16:
      return first_with(static_cast<const std::uint16_t*>(data), n, std::uint16_t{0x7f80});
  }
  return n;
}

}  // namespace
}  // namespace tidegate::runtime::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tidegate::runtime::kernels {

namespace {
HWY_EXPORT(first_here);
}  // namespace

std::size_t first_not_finite(const void* data, element type, std::size_t n) noexcept {
  return HWY_DYNAMIC_DISPATCH(first_here)(data, type, n);
}

}  // namespace tidegate::runtime::kernels
#endif
