#include "runtime/kernels/fused.hpp"

// Compiles this file once per vector width.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/squares.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include "runtime/kernels/squares_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tidegate::runtime::kernels::HWY_NAMESPACE {
namespace {

void add_here(const float* data, float factor, std::size_t n, double* sums) {
  add_squares_of(data, factor, n, sums);
}

}  // namespace
}  // namespace tidegate::runtime::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tidegate::runtime::kernels {

namespace {
HWY_EXPORT(add_here);
}  // namespace

void add_squares(const float* data, float scale, std::size_t n, squares& into) {
  HWY_DYNAMIC_DISPATCH(add_here)(data, scale, n, into.data());
}

}  // namespace tidegate::runtime::kernels
#endif
