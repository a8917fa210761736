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

// Values that lie in a file are read in their order there.
void row_eviction::rank_by_squares(const row_table& rows) {
  const auto view = rows.view();
  numbered_.clear();
  view.index().for_each([&](std::uint64_t id, row_number row) {
    numbered_.push_back({.number = row, .id = id});
  });
  if (rows.lies_in_file())
    std::sort(numbered_.begin(), numbered_.end(),
              [](const numbered& a, const numbered& b) { return a.number < b.number; });
  numbers_.clear();
  for (const auto& row : numbered_) numbers_.push_back(row.number);
  const bool by_number = is_planted(planted_bug::row_evicted_by_number);
  rows.scan_rows(numbers_, [&](std::size_t first, std::size_t count) {
    for (auto i = first; i < first + count; ++i) {
      const auto [number, id] = numbered_[i];
      ranked_.push_back({.worth = squares_of(view, number),
                         .clock = by_number ? number : view.slabs().use(number).clock,
                         .id = id});
    }
  });
}

const std::vector<std::uint64_t>& row_eviction::find_first(const row_table& rows,
                                                           eviction_order order,
                                                           std::uint64_t count) {
  TIDEGATE_ASSERT(count <= rows.size(), "there are as many");
  const bool by_number = is_planted(planted_bug::row_evicted_by_number);
  const auto view = rows.view();
  ranked_.clear();
  ranked_.reserve(rows.size());
  if (order == eviction_order::l2)
    rank_by_squares(rows);
  else
    view.index().for_each([&](std::uint64_t id, row_number row) {
      const auto& use = view.slabs().use(row);
      ranked_.push_back(
          {.worth = order == eviction_order::lfu ? static_cast<double>(use.pushes) : 0.0,
           .clock = by_number ? row : use.clock,
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
