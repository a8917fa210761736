// What a thread does with rows of a table: steps a column, does its share of a step that looks
// at a whole row, or copies. One source for both processors, as tile.hpp.
//
// Columns that know nothing of each other are dealt to threads one by one, across rows, so that
// a warp reads whole lines whatever the width of a row is. Where a row is looked at as a whole
// a warp has it: lane i sums up the squares of the columns i, i + 32, and so on, which are the
// numbers that total_of() adds up (runtime/kernels/fused.hpp).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "runtime/base/host_device.hpp"
#include "runtime/kernels/cuda/elements.hpp"
#include "runtime/kernels/cuda/tile.hpp"
#include "runtime/kernels/row_launch.hpp"
#include "runtime/optimizers/registry.hpp"
#include "runtime/optimizers/row_formulas.hpp"

namespace tidegate::runtime::kernels::cuda {

constexpr std::uint32_t lanes_per_warp = 32;

inline step_constants step_of(const row_constants& c) {
  return {.options = c.options, .rates = c.rates, .scale = c.scale};
}

// FTRL-Proximal, whose columns are on their own; z and n are its state.
struct ftrl_step {
  static constexpr std::size_t states = 2;
  row_constants constants;

  TIDEGATE_HOST_DEVICE void operator()(float sum, float& w, float& z, float& n) const {
    const auto& c = constants.row;
    accumulate(c, constants.scale * sum, w, z, n);
    w = left_over(shrunk(z, c.l1), divisor(c, n));
  }
};

// Steps one column of a row; `column` counts from at.first.
template <class Step>
TIDEGATE_HOST_DEVICE inline void step_column(const Step& step, const row_addresses& row,
                                             const row_columns& at, std::uint32_t column) {
  float none = 0;
  float* const w = row.values + at.first + column;
  float* const a = Step::states > 0 ? row.state + at.state + column : &none;
  float* const b = Step::states > 1 ? row.state + at.state + at.columns + column : &none;
  float value = *w;
  float first = *a;
  float second = *b;
  step(row.gradient[at.first + column], value, first, second);
  *w = value;
  if constexpr (Step::states > 0) *a = first;
  if constexpr (Step::states > 1) *b = second;
}

// Steps of whole rows, in three parts: the squares that a lane sums up, what their total says,
// which is for one lane to work out, and what each lane does with that.
struct rowwise_adagrad_row {
  row_constants constants;

  TIDEGATE_HOST_DEVICE double squares(const row_addresses& row, const row_columns& at,
                                      std::uint32_t lane) const {
    double sum = 0;
    for (auto i = lane; i < at.columns; i += lanes_per_warp) {
      const double g = constants.scale * row.gradient[at.first + i];
      sum += g * g;
    }
    return sum;
  }
  TIDEGATE_HOST_DEVICE float conclude(const row_addresses& row, const row_columns& at,
                                      double total) const {
    return rowwise_rate(constants.row, total, at.columns, row.state[at.state]);
  }
  TIDEGATE_HOST_DEVICE void finish(const row_addresses& row, const row_columns& at,
                                   std::uint32_t lane, float rate) const {
    for (auto i = lane; i < at.columns; i += lanes_per_warp) {
      float* const w = row.values + at.first + i;
      *w = *w - rate * (constants.scale * row.gradient[at.first + i]);
    }
  }
};

struct group_adagrad_row {
  row_constants constants;

  TIDEGATE_HOST_DEVICE double squares(const row_addresses& row, const row_columns& at,
                                      std::uint32_t lane) const {
    const auto& c = constants.row;
    double sum = 0;
    for (auto i = lane; i < at.columns; i += lanes_per_warp) {
      float* const z = row.state + at.state + i;
      float* const n = z + at.columns;
      float left = *z;
      float squares = *n;
      accumulate(c, constants.scale * row.gradient[at.first + i], row.values[at.first + i],
                 left, squares);
      *z = left;
      *n = squares;
      const double s = shrunk(left, c.l1);
      sum += s * s;
    }
    return sum;
  }
  TIDEGATE_HOST_DEVICE float conclude(const row_addresses& /*row*/, const row_columns& /*at*/,
                                      double total) const {
    return row_share(constants.row, total);
  }
  TIDEGATE_HOST_DEVICE void finish(const row_addresses& row, const row_columns& at,
                                   std::uint32_t lane, float share) const {
    const auto& c = constants.row;
    for (auto i = lane; i < at.columns; i += lanes_per_warp) {
      const float* const z = row.state + at.state + i;
      row.values[at.first + i] = left_over(share * shrunk(*z, c.l1), divisor(c, z[at.columns]));
    }
  }
};

// Calls visitor(step) for an optimizer whose columns are on their own, and visitor(row) for one
// that looks at whole rows; returns what it returns, or `other` for one that steps no rows.
template <class OnColumns, class OnRows, class Result>
Result visit_row_step(const row_constants& c, const OnColumns& on_columns,
                      const OnRows& on_rows, Result other) {
  using namespace optimizers;  // NOLINT
  switch (c.options.kind) {
    case optimizer_kind::sgd:
      return on_columns(optimizer_step<sgd>{step_of(c)});
    case optimizer_kind::adagrad:
      return on_columns(optimizer_step<adagrad>{step_of(c)});
    case optimizer_kind::adam:
      return on_columns(optimizer_step<adam>{step_of(c)});
    case optimizer_kind::proximal:
      return on_columns(optimizer_step<proximal>{step_of(c)});
    case optimizer_kind::ftrl:
      return on_columns(ftrl_step{c});
    case optimizer_kind::rowwise_adagrad:
      return on_rows(rowwise_adagrad_row{c});
    case optimizer_kind::group_adagrad:
      return on_rows(group_adagrad_row{c});
    default:
      return other;
  }
}

// Units of 16 bytes where every place of a copy is aligned to so many, of 4 bytes elsewhere.
template <class Unit>
TIDEGATE_HOST_DEVICE inline void copy_unit(const row_copy& row, std::uint32_t unit) {
  if (row.from == nullptr)
    reinterpret_cast<Unit*>(row.to)[unit] = Unit{};
  else
    reinterpret_cast<Unit*>(row.to)[unit] = reinterpret_cast<const Unit*>(row.from)[unit];
}

}  // namespace tidegate::runtime::kernels::cuda
