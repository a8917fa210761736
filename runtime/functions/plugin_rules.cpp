#include "runtime/functions/plugin_rules.hpp"

#include <algorithm>
#include <atomic>

#include "runtime/base/assert.hpp"
#include "runtime/optimizers/registry.hpp"

namespace tidegate::runtime {

namespace {

static_assert(TIDEGATE_STATES_MAX == states_max);

std::atomic<const plugin_rules*> of_process{nullptr};

template <class Entries>
auto find_in(const Entries& entries, std::string_view name) noexcept {
  const auto at = std::find_if(entries.begin(), entries.end(),
                               [&](const auto& entry) { return name == entry.rule.name; });
  return at == entries.end() ? nullptr : &*at;
}

template <class Entries>
std::string names_in(const Entries& entries) {
  std::string names;
  for (const auto& entry : entries)
    names += (names.empty() ? "" : ", ") + std::string(plugin_prefix) + entry.rule.name;
  return names.empty() ? "none, as no plugin of the cluster has any (cluster.plugins)" : names;
}

// Checks the names of the rules of one plugin.
template <class Rule, class Entries>
status check_names(const std::string& plugin, std::string_view word,
                   std::span<const Rule> rules, const Entries& known) {
  const auto bad = [&](const std::string& why) {
    return status(errc::invalid_argument,
                  "plugin " + plugin + ": " + std::string(word) + " " + why);
  };
  for (const auto& rule : rules) {
    if (rule.name == nullptr || !is_plugin_name(rule.name, rule_name::most))
      return bad("has no name of 1 to 23 of A-Z a-z 0-9 _ - .");
    const std::string_view name(rule.name);
    const auto subject = "'" + std::string(name) + "' ";
    if (const auto* before = find_in(known, name))
      return bad(subject + "has a name that is taken by plugin " + before->plugin);
    const auto is_same = [&](const Rule& other) {
      return other.name != nullptr && name == other.name;
    };
    if (std::count_if(rules.begin(), rules.end(), is_same) > 1)
      return bad(subject + "is there twice");
  }
  return {};
}

}  // namespace

status plugin_rules::add(const std::string& plugin,
                         std::span<const tidegate_reduction> reductions,
                         std::span<const tidegate_optimizer> optimizers) {
  const auto bad = [&](const std::string& why) {
    return status(errc::invalid_argument, "plugin " + plugin + ": " + why);
  };
  if (auto good = check_names(plugin, "reduction", reductions, reductions_); !good.ok())
    return good;
  if (auto good = check_names(plugin, "optimizer", optimizers, optimizers_); !good.ok())
    return good;
  for (const auto& rule : reductions)
    if (rule.combine == nullptr)
      return bad("reduction '" + std::string(rule.name) + "' has nothing to run");
  for (const auto& rule : optimizers)
    if (rule.step == nullptr || rule.states > states_max || rule.whole_rows > 1)
      return bad("optimizer '" + std::string(rule.name) +
                 "' has nothing to run, more than 2 numbers of state, or whole_rows other than "
                 "0 and 1");
  for (const auto& rule : reductions) reductions_.push_back({plugin, rule});
  for (const auto& rule : optimizers) optimizers_.push_back({plugin, rule});
  return {};
}

const reduction_entry* plugin_rules::find_reduction(std::string_view name) const noexcept {
  return find_in(reductions_, name);
}

const optimizer_entry* plugin_rules::find_optimizer(std::string_view name) const noexcept {
  return find_in(optimizers_, name);
}

status plugin_rules::check(const optimizer_options& options, steps of) const {
  if (options.reduce == reduction::plugin && !find_reduction(options.reduce_rule.view()))
    return {errc::not_found, "optimizer.reduce: '" + reduction_of(options) +
                                 "' is not here; allowed: " + names_in(reductions_)};
  if (options.kind != optimizer_kind::plugin) return {};
  const auto subject = "optimizer.name: '" + name_of(options) + "' ";
  const auto* const found = find_optimizer(options.rule.view());
  if (found == nullptr)
    return {errc::not_found, subject + "is not here; allowed: " + names_in(optimizers_)};
  if (found->rule.states != options.rule_states)
    return {errc::invalid_argument,
            subject + "keeps other numbers for each element; allowed: states: " +
                std::to_string(found->rule.states)};
  if (found->rule.whole_rows == 1 && of == steps::elements)
    return {errc::invalid_argument, subject + "steps whole rows; allowed: tables of rows"};
  return {};
}

const plugin_rules& rules_of_process() noexcept {
  static const plugin_rules none;
  const auto* const rules = of_process.load(std::memory_order_acquire);
  return rules == nullptr ? none : *rules;
}

void set_rules_of_process(const plugin_rules& rules) noexcept {
  of_process.store(&rules, std::memory_order_release);
}

tidegate_step step_numbers(const optimizer_options& options,
                           const beta_powers& powers) noexcept {
  tidegate_step step = {};
  step.learning_rate = options.learning_rate;
  step.momentum = options.momentum;
  step.beta1 = options.beta1;
  step.beta2 = options.beta2;
  step.epsilon = options.epsilon;
  step.weight_decay = options.weight_decay;
  step.l1 = options.l1;
  step.l2 = options.l2;
  step.beta = options.beta;
  step.l21 = options.l21;
  step.beta1_power = powers.beta1;
  step.beta2_power = powers.beta2;
  return step;
}

}  // namespace tidegate::runtime
