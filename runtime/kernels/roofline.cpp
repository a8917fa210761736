#include "runtime/kernels/roofline.hpp"

#include <cstdint>

// Compiles this file once per vector width.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/roofline.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/cache_control.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tidegate::runtime::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

std::size_t bytes_here() {
  return hn::Lanes(hn::ScalableTag<float>()) * sizeof(float);
}

constexpr std::size_t floats_ahead = 256 / sizeof(float);

// Four places at a time: one stream does not keep the memory busy, four read a fifth more.
float read_here(const float* data, std::size_t n) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t quarter = n / 4 / lanes * lanes;
  auto a = hn::Zero(d), b = hn::Zero(d), c = hn::Zero(d), e = hn::Zero(d);
  for (std::size_t i = 0; i < quarter; i += lanes) {
    const float* at = data + i;
    for (std::size_t k = 0; k < 4; ++k) hwy::Prefetch(at + k * quarter + floats_ahead);
    a = hn::Add(a, hn::LoadU(d, at));
    b = hn::Add(b, hn::LoadU(d, at + quarter));
    c = hn::Add(c, hn::LoadU(d, at + 2 * quarter));
    e = hn::Add(e, hn::LoadU(d, at + 3 * quarter));
  }
  float sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a, b), hn::Add(c, e))));
  for (std::size_t i = 4 * quarter; i < n; ++i) sum += data[i];
  return sum;
}

void copy_here(const float* from, float* to, std::size_t n) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hwy::Prefetch(from + i + floats_ahead);
    hwy::Prefetch(to + i + floats_ahead);
    hn::StoreU(hn::LoadU(d, from + i), d, to + i);
  }
  for (; i < n; ++i) to[i] = from[i];
}

void stream_here(const float* from, float* to, std::size_t n) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i < n && reinterpret_cast<std::uintptr_t>(to + i) % (lanes * sizeof(float)) != 0; ++i)
    to[i] = from[i];
  for (; i + lanes <= n; i += lanes) {
    hwy::Prefetch(from + i + floats_ahead);
    hn::Stream(hn::LoadU(d, from + i), d, to + i);
  }
  for (; i < n; ++i) to[i] = from[i];
  hwy::FlushStream();
}

}  // namespace
}  // namespace tidegate::runtime::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tidegate::runtime::kernels {

namespace {
HWY_EXPORT(bytes_here);
HWY_EXPORT(read_here);
HWY_EXPORT(copy_here);
HWY_EXPORT(stream_here);
}  // namespace

std::size_t vector_bytes() noexcept {
  return HWY_DYNAMIC_DISPATCH(bytes_here)();
}
float read_pass(const float* data, std::size_t n) {
  return HWY_DYNAMIC_DISPATCH(read_here)(data, n);
}
void copy_pass(const float* from, float* to, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(copy_here)(from, to, n);
}
void stream_pass(const float* from, float* to, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(stream_here)(from, to, n);
}

}  // namespace tidegate::runtime::kernels
#endif
