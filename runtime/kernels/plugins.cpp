#include "runtime/kernels/plugins.hpp"

#include <algorithm>

#include "runtime/base/assert.hpp"
#include "runtime/kernels/gaps.hpp"
#include "runtime/kernels/reduced.hpp"

namespace tidegate::runtime::kernels {

const reduction_entry* reduction_entry_of(const combination& rule) {
  if (rule.by != reduction::plugin) return nullptr;
  const auto* const entry = rules_of_process().find_reduction(rule.rule.view());
  TIDEGATE_ASSERT(entry != nullptr, "a table's reduction was looked for when it was opened");
  return entry;
}

const optimizer_entry* optimizer_entry_of(const optimizer_options& options) {
  if (options.kind != optimizer_kind::plugin) return nullptr;
  const auto* const entry = rules_of_process().find_optimizer(options.rule.view());
  TIDEGATE_ASSERT(entry != nullptr, "a table's optimizer was looked for when it was opened");
  return entry;
}

void combine_by_plugin(const reduction_entry& entry, gaps where, const float* a, const float* b,
                       float* out, std::size_t n) {
  TIDEGATE_ASSERT(n <= plugin_run, "a run of elements");
  alignas(64) float both[plugin_run];
  {
    const rule_watch watch(&entry);
    entry.rule.combine(a, b, both, n);
  }
  if (where == gaps::none) {
    std::copy_n(both, n, out);
    return;
  }
  for (std::size_t i = 0; i < n; ++i)
    out[i] = is_gap(a[i]) ? b[i] : is_gap(b[i]) ? a[i] : both[i];
}

namespace {

// What a rule is not to change where nothing was pushed.
class kept_at_gaps {
 public:
  kept_at_gaps(const float* sum, float* array, std::size_t n)
      : sum_(sum), array_(array), n_(n) {
    if (array_ != nullptr) std::copy_n(array_, n_, before_);
  }
  void restore() {
    for (std::size_t i = 0; array_ != nullptr && i < n_; ++i)
      if (is_gap(sum_[i])) array_[i] = before_[i];
  }

 private:
  const float* sum_;
  float* array_;
  std::size_t n_;
  alignas(64) float before_[plugin_run];
};

}  // namespace

void step_by_plugin(const plugin_step& step, const float* sum, const chunk_arrays& at) {
  TIDEGATE_ASSERT(at.n <= plugin_run, "a run of elements");
  alignas(64) float gradient[plugin_run];
  for (std::size_t i = 0; i < at.n; ++i)
    gradient[i] = step.where == gaps::possible && is_gap(sum[i])
                      ? 0.0F
                      : reduced(sum[i], step.scale, step.limit);
  if (at.before != at.after) std::copy_n(at.before, at.n, at.after);
  auto with = step.numbers;
  with.gradient = gradient;
  with.parameters = at.after;
  with.state1 = at.state1;
  with.state2 = at.state2;
  with.elements = at.n;
  const rule_watch watch(step.entry);
  if (step.where == gaps::none) return step.entry->rule.step(&with);
  kept_at_gaps arrays[] = {
      {sum, at.after, at.n}, {sum, at.state1, at.n}, {sum, at.state2, at.n}};
  step.entry->rule.step(&with);
  for (auto& array : arrays) array.restore();
}

}  // namespace tidegate::runtime::kernels
