#include "runtime/rows/row_steps.hpp"

#include <algorithm>

// Compiles this file once per vector width.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/rows/row_steps.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include "runtime/rows/ahead_inl.hpp"
#include "runtime/rows/row_steps_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tidegate::runtime::rows::HWY_NAMESPACE {
namespace {

template <std::size_t StatesPerColumn, class Step>
void step_all(const Step& step, std::uint64_t clock, const row_arrays& at,
              std::span<const row_number> rows, const float* const* gradients) {
  const auto state_floats = StatesPerColumn == 0 ? 1 : StatesPerColumn * at.dim;
  const auto ahead = rows_ahead(at.dim);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i + ahead < rows.size()) {
      const auto next = rows[i + ahead];
      prefetch_row(at.values, at.value_stride, at.dim, next);
      if (at.state_stride > 0) prefetch_row(at.states, at.state_stride, state_floats, next);
      if (at.uses != nullptr) hwy::Prefetch(at.uses + next);
    }
    const auto row = rows[i];
    if (at.before != nullptr)
      std::copy_n(at.values + row * at.value_stride, at.dim, at.before + i * at.before_stride);
    step(gradients[i] + at.first, at.values + row * at.value_stride,
         at.states + row * at.state_stride, at.dim);
    if (at.uses == nullptr) continue;
    at.uses[row].clock = clock;
    ++at.uses[row].pushes;
  }
}

// A rule of a plugin takes as long as it does, and is watched for all of the rows.
struct plugin_row_step {
  const row_coefficients& c;

  void operator()(const float* g, float* w, float* state, std::size_t dim) const {
    step_row_by_plugin(c, g, w, state, dim);
  }
};

void step_here(const row_coefficients& c, std::uint64_t clock, const row_arrays& at,
               std::span<const row_number> rows, const float* const* gradients) {
  namespace dense = kernels::HWY_NAMESPACE;
  switch (c.kind) {
    case optimizer_kind::sgd:
      return step_all<0>(columns_step<dense::sgd_step>{{c.dense}}, clock, at, rows, gradients);
    case optimizer_kind::adagrad:
      return step_all<1>(columns_step<dense::adagrad_step>{{c.dense}}, clock, at, rows,
                         gradients);
    case optimizer_kind::rowwise_adagrad:
      return step_all<0>(rowwise_step{c}, clock, at, rows, gradients);
    case optimizer_kind::adam:
      return step_all<2>(columns_step<dense::adam_step>{{c.dense}}, clock, at, rows, gradients);
    case optimizer_kind::proximal:
      return step_all<0>(columns_step<dense::proximal_step>{{c.dense}}, clock, at, rows,
                         gradients);
    case optimizer_kind::ftrl:
      return step_all<2>(ftrl_step{c}, clock, at, rows, gradients);
    case optimizer_kind::group_adagrad:
      return step_all<2>(group_step{c}, clock, at, rows, gradients);
    case optimizer_kind::plugin: {
      const rule_watch watch(c.rule);
      return step_all<2>(plugin_row_step{c}, clock, at, rows, gradients);
    }
    default:
      TIDEGATE_ASSERT(false, "an optimizer of rows");
  }
}

}  // namespace
}  // namespace tidegate::runtime::rows::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tidegate::runtime::rows {

namespace {
HWY_EXPORT(step_here);
}  // namespace

void step_rows(const row_coefficients& c, std::uint64_t clock, const row_arrays& at,
               std::span<const row_number> rows, const float* const* gradients) {
  HWY_DYNAMIC_DISPATCH(step_here)(c, clock, at, rows, gradients);
}

}  // namespace tidegate::runtime::rows
#endif
