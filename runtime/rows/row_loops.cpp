#include "runtime/rows/row_loops.hpp"

#include <algorithm>

// Compiles this file once per vector width.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/rows/row_loops.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include "runtime/rows/ahead_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tidegate::runtime::rows::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE void copy_row(const float* from, float* to, std::size_t dim) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= dim; i += lanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
  for (; i < dim; ++i) to[i] = from[i];
}

void copy_here(const float_rows& from, std::span<const row_number> rows, float* out) {
  const auto ahead = rows_ahead(from.dim);
  for (std::size_t i = 0; i < std::min(ahead, rows.size()); ++i)
    prefetch_row(from.data, from.stride, from.dim, rows[i]);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i + ahead < rows.size())
      prefetch_row(from.data, from.stride, from.dim, rows[i + ahead]);
    if (HWY_LIKELY(rows[i] != no_row))
      copy_row(from.data + rows[i] * from.stride, out + i * from.dim, from.dim);
  }
}

}  // namespace
}  // namespace tidegate::runtime::rows::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tidegate::runtime::rows {

namespace {
HWY_EXPORT(copy_here);
}  // namespace

void copy_rows(const float_rows& from, std::span<const row_number> rows, float* out) {
  HWY_DYNAMIC_DISPATCH(copy_here)(from, rows, out);
}

}  // namespace tidegate::runtime::rows
#endif
