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

std::string_view name_of(sim::scale::resource what) {
  return resource_names[static_cast<std::size_t>(what)];
}

// What a line of a picture has in common.
std::string series_of(const setting& what) {
  auto name = policies::to_string(what.consistency) + ", " + std::to_string(what.shards) +
              (what.shards == 1 ? " shard" : " shards");
  if (what.aggregators.kind != policies::aggregators_kind::none)
    name += ", " + to_string(what.aggregators);
  return name;
}

std::string picture(const std::vector<modelled>& runs, const std::string& title,
                    const std::function<double(const outcome&)>& value) {
  bench::plot_data data{
      title, {}, bench::plot_unit::number, bench::plot_unit::number, "workers"};
  for (const auto& one : runs) {
    const auto name = series_of(one.setting);
    if (data.series.empty() || data.series.back().name != name)
      data.series.push_back({name, {}});
    data.series.back().points.push_back(
        {static_cast<double>(one.setting.workers), value(one.outcome)});
  }
  return bench::plot_svg(data);
}

}  // namespace

std::string scale_table(const std::vector<modelled>& runs) {
  std::vector<std::vector<std::string>> rows{
      {"shards", "aggregators", "policy", "workers", "clocks/s", "of linear %", "waiting %",
       "p99 %", "for others %", "staleness", "p99", "max", "bottleneck", "used %"}};
  for (const auto& [what, made] : runs) {
    const auto used = made.used[static_cast<std::size_t>(made.bottleneck)];
    rows.push_back({std::to_string(what.shards), to_string(what.aggregators),
                    policies::to_string(what.consistency), std::to_string(what.workers),
                    text("%.4g", made.rate / what.workers), percent(made.efficiency),
                    percent(made.waiting_mean), percent(made.waiting_p99),
                    percent(made.parked_mean), text("%.2f", made.staleness_mean),
                    std::to_string(made.staleness_p99), std::to_string(made.staleness_max),
                    std::string(name_of(made.bottleneck)), percent(used)});
  }
  return launch::format_table(rows, {0, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13});
}

std::string scale_json(const std::vector<modelled>& runs) {
  nlohmann::ordered_json root;
  root["runs"] = nlohmann::ordered_json::array();
  for (const auto& [what, made] : runs) {
    nlohmann::ordered_json one{{"shards", what.shards},
                               {"aggregators", to_string(what.aggregators)},
                               {"policy", policies::to_string(what.consistency)},
                               {"workers", what.workers},
                               {"clocks", what.clocks},
                               {"seed", what.seed},
                               {"seconds", made.seconds},
                               {"worker_clocks", made.worker_clocks},
                               {"worker_clocks_per_s", made.rate},
                               {"of_linear", made.efficiency},
                               {"waiting_mean", made.waiting_mean},
                               {"waiting_p99", made.waiting_p99},
                               {"waiting_for_others", made.parked_mean},
                               {"staleness_mean", made.staleness_mean},
                               {"staleness_p99", made.staleness_p99},
                               {"staleness_max", made.staleness_max},
                               {"bottleneck", name_of(made.bottleneck)}};
    for (std::size_t at = 0; at < resource_names.size(); ++at)
      one["used"][std::string(resource_names[at])] = made.used[at];
    root["runs"].push_back(std::move(one));
  }
  return root.dump(2) + "\n";
}

std::vector<std::pair<std::string, std::string>> scale_pictures(
    const std::vector<modelled>& runs) {
  return {
      {"-rate.svg", picture(runs, "worker clocks per second",
                            [](const outcome& made) { return made.rate; })},
      {"-linear.svg", picture(runs, "percent of linear scaling",
                              [](const outcome& made) { return 100 * made.efficiency; })},
      {"-waiting.svg", picture(runs, "percent of their time that workers wait",
                               [](const outcome& made) { return 100 * made.waiting_mean; })},
      {"-staleness.svg",
       picture(runs, "staleness of pulls, 99th percentile, clocks",
               [](const outcome& made) { return static_cast<double>(made.staleness_p99); })}};
}

}  // namespace tidegate::simulate
