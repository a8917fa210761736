// Asking for the rows of a batch ahead of their use. Compiled once per vector width.
#if defined(TIDEGATE_ROWS_AHEAD_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TIDEGATE_ROWS_AHEAD_INL
#undef TIDEGATE_ROWS_AHEAD_INL
#else
#define TIDEGATE_ROWS_AHEAD_INL
#endif

#include <algorithm>
#include <cstddef>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "runtime/rows/index_layout.hpp"

HWY_BEFORE_NAMESPACE();
namespace tidegate::runtime::rows::HWY_NAMESPACE {

constexpr std::size_t floats_per_line = 16;

// How many rows ahead: 2 KiB of them, but 4 rows at least and 32 at most.
HWY_INLINE std::size_t rows_ahead(std::size_t floats) {
  return std::clamp<std::size_t>(512 / floats, 4, 32);
}

// Asks for the first 1 KiB of a row; the processor goes on by itself.
HWY_INLINE void prefetch_row(const float* data, std::size_t stride, std::size_t floats,
                             row_number row) {
  if (row == no_row) return;
  const float* from = data + row * stride;
  const auto end = std::min<std::size_t>(floats, 256);
  for (std::size_t i = 0; i < end; i += floats_per_line) hwy::Prefetch(from + i);
}

}  // namespace tidegate::runtime::rows::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
