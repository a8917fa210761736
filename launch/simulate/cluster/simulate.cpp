#include "launch/simulate/cluster/simulate.hpp"

#include <algorithm>

#include "runtime/base/assert.hpp"
#include "runtime/base/buggify.hpp"
#include "runtime/base/rare.hpp"
#include "runtime/base/rng.hpp"

namespace tidegate::sim {

namespace {

const char* text_of(policies::run_outcome outcome) {
  switch (outcome) {
    case policies::run_outcome::done:
      return "done";
    case policies::run_outcome::job_failed:
      return "job failed";
    case policies::run_outcome::process_died:
      return "process died";
  }
  return "";
}

}  // namespace

const scenario& scenario_of(const simulate_options& options, std::uint64_t seed) {
  TIDEGATE_ASSERT(!options.mix.empty(), "a scenario to draw from");
  std::uint64_t all = 0;
  for (const auto& scenario : options.mix) all += scenario.weight;
  auto drawn = runtime::mix64(seed ^ 0x6d6978ULL) % all;
  for (const auto& entry : options.mix) {
    if (drawn < entry.weight) return entry;
    drawn -= entry.weight;
  }
  return options.mix.back();
}

simulate_report simulate(const simulate_options& options, const std::function<bool()>& go_on) {
  simulate_report report;
  std::uint64_t turned = 0;
  for (std::uint64_t i = 0; i < options.seeds && go_on(); ++i) {
    const auto seed = options.first_seed + i;
    const auto& of = scenario_of(options, seed);
    const auto plan = draw_plan(of, seed);
    turned |= plan.set.turned;
    auto once = run_cluster(plan, seed, false);
    const auto again = run_cluster(plan, seed, false);
    if (once.digest != again.digest || once.draws != again.draws || once.events != again.events)
      once.violations.push_back({"deterministic", "the same seed drew differently twice"});
    ++report.clusters;
    ++report.of_scenario[of.name];
    report.events += once.events + again.events;
    for (const auto part : {once.digest, once.draws, once.events})
      report.digest = runtime::mix64(report.digest ^ part);
    if (!once.stuck && once.violations.empty()) {
      ++report.ended[text_of(once.outcome)];
      continue;
    }
    report.stuck += once.stuck ? 1 : 0;
    report.violations += once.violations.empty() ? 0 : 1;
    report.failures.push_back({seed, of.name, once.stuck, once.violations});
    if (report.failures.size() >= options.failures_max) break;
  }
  for (const auto& mark : runtime::rare_marks())
    if (!mark.reached.load(std::memory_order_relaxed)) report.never_hit.push_back(mark.name);
  for (const auto& mark : runtime::forced_marks())
    if (!mark.taken.load(std::memory_order_relaxed)) report.never_forced.push_back(mark.name);
  report.never_turned = unturned_knobs(turned);
  for (auto* list : {&report.never_hit, &report.never_forced, &report.never_turned})
    std::sort(list->begin(), list->end());
  return report;
}

}  // namespace tidegate::sim
