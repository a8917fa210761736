#include "launch/config/optimizer_keys.hpp"

#include <deque>
#include <string>
#include <utility>

#include "launch/text/scalars.hpp"
#include "policies/model/option_rules.hpp"
#include "runtime/optimizers/registry.hpp"

namespace tidegate::launch {

namespace {

using policies::optimizer_rule;
using runtime::optimizer_option;
using runtime::optimizers_known;

std::string_view kept(std::string text) {
  static std::deque<std::string> texts;
  return texts.emplace_back(std::move(text));
}

// What most optimizers with this option have, and the names of those that have something else.
std::string preset_of(const optimizer_rule& rule) {
  const float usual = runtime::optimizer_options().*rule.value;
  std::string text;
  std::string others;
  for (const auto& traits : optimizers_known) {
    if (!runtime::contains(traits.options, rule.option)) continue;
    const float value = traits.defaults.*rule.value;
    if (value == usual)
      text = format_real(usual);
    else
      others += "; " + std::string(traits.name) + " " + format_real(value);
  }
  if (!text.empty()) return text + others;
  return others.substr(others.rfind(' ') + 1);  // one optimizer has it
}

std::string allowed_of(const optimizer_rule& rule) {
  std::string text(rule.allowed);
  if (!rule.belongs_to_all())
    text += "; only with name " + runtime::optimizer_names(rule.option, " or ");
  return text;
}

}  // namespace

void add_optimizer_keys(std::string_view map, std::vector<yaml_key>& rows) {
  const bool of_job = map == optimizer_of_job;
  const std::string prefix = std::string(map) + ".";
  const auto add = [&](std::string_view name, std::string_view type, std::string preset,
                       std::string allowed, std::string_view doc) {
    rows.push_back({.path = kept(prefix + std::string(name)),
                    .type = type,
                    .preset = of_job ? kept(std::move(preset)) : "the job's",
                    .allowed = kept(std::move(allowed)),
                    .doc = of_job ? doc : "as in the job's optimizer"});
  };
  add("name", "choice", std::string(optimizers_known[0].name),
      runtime::optimizer_names(optimizer_option::learning_rate),
      "the optimizer; plugin:NAME is of a library of cluster.plugins");
  for (const auto& rule : policies::optimizer_rules)
    add(rule.name, "real", preset_of(rule), allowed_of(rule), rule.doc);
  add("schedule", "map", "-",
      "kind, warmup, clocks, factor; only with name " +
          runtime::optimizer_names(optimizer_option::schedule, " or "),
      "how the learning rate follows the clocks of steps");
  add("schedule.kind", "choice", "required", "constant, step, cosine",
      "step: times `factor` every `clocks`; cosine: falls to `factor` times itself over "
      "`clocks`");
  add("schedule.warmup", "number", "0",
      std::string(policies::schedule_warmup_text) + "; only with kind",
      "clocks at the beginning in which the rate rises to its value");
  add("schedule.clocks", "number", "required by step and cosine",
      std::string(policies::schedule_clocks_text) + "; only with kind step or cosine",
      "clocks after the warm-up");
  add("schedule.factor", "real", "0.1; cosine 0",
      std::string(policies::schedule_factor_text) + "; only with kind step or cosine",
      "what the rate is multiplied by");
  add("lazy", "choice", "false", "true, false",
      "whether an element that no worker pushes in a clock makes no step; ranges are pushed "
      "only then");
  add("reduce", "choice", "-", std::string(runtime::reduction_names),
      "how the workers' gradients of one clock become one, if not as jobs.*.reduce says; `or` "
      "is the first that is not 0, `and` is 0 or the last");
  add("states", "number", "0", std::string(policies::states_text),
      "how many numbers an optimizer of a plugin keeps for each element, as the plugin says");
}

}  // namespace tidegate::launch
