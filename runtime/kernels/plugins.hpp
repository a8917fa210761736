// Rules of plugins (runtime/functions/plugin_rules.hpp) on runs of elements: internal to this
// folder, runtime/rows and runtime/parts. A rule is called for one block after the other, as
// the loops of update.cpp go, and gaps are kept from it. Pure functions over the caller's
// memory, any thread. No allocation.
#pragma once

#include <cstddef>

#include "runtime/functions/plugin_rules.hpp"
#include "runtime/kernels/update.hpp"

namespace tidegate::runtime::kernels {

// The largest run of elements that the functions below take.
inline constexpr std::size_t plugin_run = 256;

// Returns the rule of a reduction or an optimizer, null where no plugin's is named. Asserted:
// this process has it.
const reduction_entry* reduction_entry_of(const combination& rule);
const optimizer_entry* optimizer_entry_of(const optimizer_options& options);

// Watches both rules of a table for as long as a step of many rows takes.
struct rules_watch {
  explicit rules_watch(const optimizer_options& options)
      : reduction(reduction_entry_of(combination_of(options))),
        optimizer(optimizer_entry_of(options)) {}

  rule_watch<reduction_entry> reduction;
  rule_watch<optimizer_entry> optimizer;
};

// out = a and b combined, where neither is a gap; `out` may be a or b.
void combine_by_plugin(const reduction_entry& entry, gaps where, const float* a, const float* b,
                       float* out, std::size_t n);

// How the steps of one chunk are made.
struct plugin_step {
  const optimizer_entry* entry = nullptr;
  tidegate_step numbers = {};
  gaps where = gaps::none;
  float scale = 1.0F;
  float limit = 0.0F;
};
// The step of a run of elements with this sum. `at` has no `sum`.
void step_by_plugin(const plugin_step& step, const float* sum, const chunk_arrays& at);

}  // namespace tidegate::runtime::kernels
