// The optimizers and reductions of plugins (include/tidegate/plugin.h), which tables name in
// their options.
//
// Filled before threads read it; then any thread. Running a rule allocates nothing. While one
// runs it is watched (function_watch.hpp).
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>

#include "runtime/base/status.hpp"
#include "runtime/functions/function_watch.hpp"
#include "runtime/optimizers/optimizer.hpp"
#include <tidegate/plugin.h>

namespace tidegate::runtime {

template <class Rule>
struct plugin_entry {
  std::string plugin;  // the path of its library
  Rule rule;
};
using reduction_entry = plugin_entry<tidegate_reduction>;
using optimizer_entry = plugin_entry<tidegate_optimizer>;

class plugin_rules {
 public:
  // Adds the rules of a plugin, whose names and code stay. All or none. Errors:
  // invalid_argument (one that is not right, or has a name that is taken).
  status add(const std::string& plugin, std::span<const tidegate_reduction> reductions,
             std::span<const tidegate_optimizer> optimizers);

  // Returns the rule of this name, or null.
  const reduction_entry* find_reduction(std::string_view name) const noexcept;
  const optimizer_entry* find_optimizer(std::string_view name) const noexcept;

  // Checks that the rules which these options name are here and fit. `steps`: what an optimizer
  // is to step. Errors: not_found, invalid_argument; the message says what is allowed.
  enum class steps : std::uint8_t { elements, rows };
  status check(const optimizer_options& options, steps of) const;

 private:
  std::deque<reduction_entry> reductions_;  // entries stay where they are
  std::deque<optimizer_entry> optimizers_;
};

// The rules of this process, which steps look for theirs in: none, until they are set. `rules`
// outlives all steps. Not while any thread makes steps.
const plugin_rules& rules_of_process() noexcept;
void set_rules_of_process(const plugin_rules& rules) noexcept;

// Watches a rule for as long as a chunk, or a batch of rows, takes; null: nothing is watched.
// Watches of parts of that are nested in it.
template <class Entry>
class rule_watch {
 public:
  explicit rule_watch(const Entry* entry) noexcept
      : watch_(entry == nullptr ? nullptr : entry->rule.name,
               entry == nullptr ? nullptr : entry->plugin.c_str()) {}

 private:
  function_watch watch_;
};

// Returns a step with the numbers of these options, and no arrays. `powers`: with this step.
tidegate_step step_numbers(const optimizer_options& options,
                           const beta_powers& powers) noexcept;

}  // namespace tidegate::runtime
