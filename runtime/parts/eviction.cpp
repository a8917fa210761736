#include "runtime/parts/eviction.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/base/rng.hpp"
#include "runtime/kernels/fused.hpp"

namespace tidegate::runtime {

namespace {

// A row with a NaN is worth most: whoever looks for it finds it.
double squares_of(const row_view& rows, row_number row) {
  kernels::squares sums{};
  kernels::add_squares(rows.slabs().values(row), 1.0F, rows.dim(), sums);
  const auto total = kernels::total_of(sums);
  return std::isnan(total) ? std::numeric_limits<double>::infinity() : total;
}

double worth_of(const row_view& rows, eviction_order order, row_number row) {
  switch (order) {
    case eviction_order::lru:
      return 0;
    case eviction_order::lfu:
      return static_cast<double>(rows.slabs().use(row).pushes);
    case eviction_order::l2:
      return squares_of(rows, row);
  }
  return 0;
}

}  // namespace

const std::vector<std::uint64_t>& row_eviction::find_unseen(const row_view& rows,
                                                            std::uint64_t unseen,
                                                            std::uint64_t now) {
  ids_.clear();
  rows.index().for_each([&](std::uint64_t id, row_number row) {
    const auto seen = rows.slabs().use(row).clock;
    if (seen <= now && now - seen >= unseen) ids_.push_back(id);
  });
  std::sort(ids_.begin(), ids_.end());
  return ids_;
}

const std::vector<std::uint64_t>& row_eviction::find_first(const row_view& rows,
                                                           eviction_order order,
                                                           std::uint64_t count) {
  TIDEGATE_ASSERT(count <= rows.size(), "there are as many");
  const bool by_number = is_planted(planted_bug::row_evicted_by_number);
  ranked_.clear();
  ranked_.reserve(rows.size());
  rows.index().for_each([&](std::uint64_t id, row_number row) {
    ranked_.push_back({.worth = worth_of(rows, order, row),
                       .clock = by_number ? row : rows.slabs().use(row).clock,
                       .id = id});
  });
  const auto last = ranked_.begin() + static_cast<std::ptrdiff_t>(count);
  if (last != ranked_.end())
    std::nth_element(ranked_.begin(), last, ranked_.end(),
                     [](const ranked& a, const ranked& b) {
                       return std::tuple(a.worth, a.clock, mix64(a.id)) <
                              std::tuple(b.worth, b.clock, mix64(b.id));
                     });
  ids_.clear();
  for (auto row = ranked_.begin(); row != last; ++row) ids_.push_back(row->id);
  std::sort(ids_.begin(), ids_.end());
  return ids_;
}

}  // namespace tidegate::runtime
