#include "launch/simulate/report.hpp"

#include <cstdio>
#include <functional>

#include <nlohmann/json.hpp>

#include "launch/bench/plot.hpp"
#include "launch/simulate/read_scale.hpp"
#include "launch/text/text_table.hpp"
#include "policies/consistency/consistency.hpp"

namespace tidegate::simulate {

namespace {

using sim::scale::outcome;
using sim::scale::resource_names;
using sim::scale::setting;

std::string text(const char* pattern, double value) {
  char buffer[48];
  std::snprintf(buffer, sizeof buffer, pattern, value);
  return buffer;
}

std::string percent(double share) {
  return text("%.1f", 100 * share);
}

std::string_view name_of(sim::scale::resource resource) {
  return resource_names[static_cast<std::size_t>(resource)];
}

// What a line of a picture has in common.
std::string series_of(const setting& combination) {
  auto name = policies::to_string(combination.consistency) + ", " +
              std::to_string(combination.shards) +
              (combination.shards == 1 ? " shard" : " shards");
  if (combination.aggregators.kind != policies::aggregators_kind::none)
    name += ", " + to_string(combination.aggregators);
  return name;
}

std::string picture(const std::vector<modelled>& runs, const std::string& title,
                    const std::function<double(const outcome&)>& value) {
  bench::plot_data data{.title = title,
                        .series = {},
                        .x_unit = bench::plot_unit::number,
                        .y_unit = bench::plot_unit::number,
                        .x_name = "workers"};
  for (const auto& run : runs) {
    const auto name = series_of(run.setting);
    if (data.series.empty() || data.series.back().name != name)
      data.series.push_back({name, {}});
    data.series.back().points.push_back(
        {static_cast<double>(run.setting.workers), value(run.outcome)});
  }
  return bench::plot_svg(data);
}

}  // namespace

std::string scale_table(const std::vector<modelled>& runs) {
  std::vector<std::vector<std::string>> rows{
      {"shards", "aggregators", "policy", "workers", "clocks/s", "of linear %", "waiting %",
       "p99 %", "for others %", "staleness", "p99", "max", "bottleneck", "used %"}};
  for (const auto& [setting, outcome] : runs) {
    const auto used = outcome.used[static_cast<std::size_t>(outcome.bottleneck)];
    rows.push_back({std::to_string(setting.shards), to_string(setting.aggregators),
                    policies::to_string(setting.consistency), std::to_string(setting.workers),
                    text("%.4g", outcome.rate / setting.workers), percent(outcome.efficiency),
                    percent(outcome.waiting_mean), percent(outcome.waiting_p99),
                    percent(outcome.parked_mean), text("%.2f", outcome.staleness_mean),
                    std::to_string(outcome.staleness_p99),
                    std::to_string(outcome.staleness_max),
                    std::string(name_of(outcome.bottleneck)), percent(used)});
  }
  return launch::format_table(rows, {0, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13});
}

std::string scale_json(const std::vector<modelled>& runs) {
  nlohmann::ordered_json root;
  root["runs"] = nlohmann::ordered_json::array();
  for (const auto& [setting, outcome] : runs) {
    nlohmann::ordered_json run{{"shards", setting.shards},
                               {"aggregators", to_string(setting.aggregators)},
                               {"policy", policies::to_string(setting.consistency)},
                               {"workers", setting.workers},
                               {"clocks", setting.clocks},
                               {"seed", setting.seed},
                               {"seconds", outcome.seconds},
                               {"worker_clocks", outcome.worker_clocks},
                               {"worker_clocks_per_s", outcome.rate},
                               {"of_linear", outcome.efficiency},
                               {"waiting_mean", outcome.waiting_mean},
                               {"waiting_p99", outcome.waiting_p99},
                               {"waiting_for_others", outcome.parked_mean},
                               {"staleness_mean", outcome.staleness_mean},
                               {"staleness_p99", outcome.staleness_p99},
                               {"staleness_max", outcome.staleness_max},
                               {"bottleneck", name_of(outcome.bottleneck)}};
    for (std::size_t at = 0; at < resource_names.size(); ++at)
      run["used"][std::string(resource_names[at])] = outcome.used[at];
    root["runs"].push_back(std::move(run));
  }
  return root.dump(2) + "\n";
}

std::vector<std::pair<std::string, std::string>> scale_pictures(
    const std::vector<modelled>& runs) {
  return {
      {"-rate.svg", picture(runs, "worker clocks per second",
                            [](const outcome& result) { return result.rate; })},
      {"-linear.svg", picture(runs, "percent of linear scaling",
                              [](const outcome& result) { return 100 * result.efficiency; })},
      {"-waiting.svg",
       picture(runs, "percent of their time that workers wait",
               [](const outcome& result) { return 100 * result.waiting_mean; })},
      {"-staleness.svg",
       picture(runs, "staleness of pulls, 99th percentile, clocks", [](const outcome& result) {
         return static_cast<double>(result.staleness_p99);
       })}};
}

}  // namespace tidegate::simulate
