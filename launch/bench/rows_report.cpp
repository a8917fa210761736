#include <algorithm>

#include <nlohmann/json.hpp>

#include "launch/bench/rows_bench.hpp"
#include "launch/bench/statistics.hpp"
#include "launch/text/text_table.hpp"

namespace tidegate::bench {

namespace {

// Of the batches of an operation.
struct rate_medians {
  double rows_per_s = 0;
  double bare_rows_per_s = 0;  // 0: nothing is compared
  double share = 0;
  double share_min = 0;
  double share_max = 0;
};

rate_medians medians_of(const rows_rate& rate) {
  std::vector<double> rates, bare, shares;
  for (std::size_t i = 0; i < rate.seconds.size(); ++i) {
    rates.push_back(rate.rows[i] / rate.seconds[i]);
    if (rate.bare_seconds.empty()) continue;
    bare.push_back(rate.rows[i] / rate.bare_seconds[i]);
    shares.push_back(rate.bare_seconds[i] / rate.seconds[i]);
  }
  return {.rows_per_s = median(rates),
          .bare_rows_per_s = median(bare),
          .share = median(shares),
          .share_min = percentile(shares, 0.1),
          .share_max = percentile(shares, 0.9)};
}

double largest(const std::vector<double>& values) {
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

std::vector<std::string> growth_cells(const std::string& name, const rows_growth& growth) {
  return {name, launch::number_text("%.2f", median(growth.seconds) * 1e3),
          launch::number_text("%.2f", percentile(growth.seconds, 0.99) * 1e3),
          launch::number_text("%.2f", largest(growth.seconds) * 1e3),
          launch::number_text("%.2f", largest(growth.wall_seconds) * 1e3)};
}

nlohmann::ordered_json growth_json(const rows_growth& growth) {
  return {{"median_seconds", median(growth.seconds)},
          {"p99_seconds", percentile(growth.seconds, 0.99)},
          {"worst_seconds", largest(growth.seconds)},
          {"worst_wall_seconds", largest(growth.wall_seconds)}};
}

}  // namespace

std::string rows_table(const rows_options& options, const rows_figures& figures) {
  std::vector<std::vector<std::string>> rates{
      {"operation", "M rows/s", "roofline", "share", "10 %", "90 %"}};
  for (const auto& rate : figures.rates) {
    const auto found = medians_of(rate);
    rates.push_back({rate.operation, launch::number_text("%.2f", found.rows_per_s / 1e6)});
    for (const double value :
         {found.bare_rows_per_s / 1e6, found.share, found.share_min, found.share_max})
      rates.back().push_back(rate.bare_seconds.empty() ? "-"
                                                       : launch::number_text("%.2f", value));
  }
  std::string text = std::to_string(options.rows) + " rows of " + std::to_string(options.dim) +
                     ", batches of " + std::to_string(options.batch) + ", index " +
                     launch::number_text("%.1f", figures.index_bytes) + " bytes per row\n\n" +
                     launch::format_table(rates, {1, 2, 3, 4, 5}) + "\n";
  text += launch::format_table(
      {{"batches that make rows", "median ms", "p99 ms", "worst ms", "worst wall ms"},
       growth_cells("index", figures.index),
       growth_cells("table", figures.table)},
      {1, 2, 3, 4});
  return text;
}

std::string rows_json(const rows_options& options, const rows_figures& figures) {
  nlohmann::ordered_json root{{"kind", "rows"},
                              {"rows", options.rows},
                              {"dim", options.dim},
                              {"batch", options.batch},
                              {"zipf", options.zipf},
                              {"threads", 1},
                              {"repeats", options.repeats},
                              {"index_bytes_per_row", figures.index_bytes}};
  root["rates"] = nlohmann::ordered_json::array();
  for (const auto& rate : figures.rates) {
    const auto found = medians_of(rate);
    nlohmann::ordered_json entry{{"operation", rate.operation},
                                 {"rows_per_s", found.rows_per_s},
                                 {"seconds", rate.seconds}};
    if (!rate.bare_seconds.empty()) {
      entry["roofline_rows_per_s"] = found.bare_rows_per_s;
      entry["share"] = found.share;
      entry["roofline_seconds"] = rate.bare_seconds;
    }
    root["rates"].push_back(std::move(entry));
  }
  root["growth"] = {{"index", growth_json(figures.index)},
                    {"table", growth_json(figures.table)}};
  return root.dump(2) + "\n";
}

}  // namespace tidegate::bench
