#include <algorithm>

#include <nlohmann/json.hpp>

#include "launch/bench/cluster_run.hpp"
#include "launch/bench/rows_cluster.hpp"
#include "launch/bench/statistics.hpp"
#include "launch/config/words.hpp"
#include "launch/text/text_table.hpp"

namespace tidegate::bench {

namespace {

std::vector<double> over(double rows, const std::vector<double>& seconds) {
  std::vector<double> rates;
  for (const auto each : seconds) rates.push_back(rows / each);
  return rates;
}

// Round by round: what else the machine did then slowed both.
std::vector<double> shares_of(const rows_cluster_figures& figures) {
  const auto ours = over(figures.rows_per_round, figures.seconds);
  const auto bare = over(figures.bare_rows_per_round, figures.bare_seconds);
  std::vector<double> shares;
  for (std::size_t i = 0; i < ours.size(); ++i) shares.push_back(ours[i] / bare[i]);
  return shares;
}

double rows_per_cpu_second(const rows_cluster_figures& figures) {
  return figures.rows_per_round * static_cast<double>(figures.seconds.size()) /
         figures.servers_cpu_seconds;
}

constexpr double parts_of_pulls[] = {0.5, 0.99, 0.999, 1};

std::vector<std::string> pull_cells(const std::string& name,
                                    const std::vector<double>& seconds) {
  std::vector<std::string> cells{name};
  for (const auto part : parts_of_pulls)
    cells.push_back(launch::number_text("%.2f", percentile(seconds, part) * 1e3));
  return cells;
}

nlohmann::ordered_json pulls_json(const std::vector<double>& seconds) {
  return {{"median_seconds", percentile(seconds, parts_of_pulls[0])},
          {"p99_seconds", percentile(seconds, parts_of_pulls[1])},
          {"p999_seconds", percentile(seconds, parts_of_pulls[2])},
          {"worst_seconds", percentile(seconds, parts_of_pulls[3])},
          {"seconds", seconds}};
}

}  // namespace

std::string rows_cluster_table(const bench_options& options,
                               const rows_cluster_figures& figures) {
  const auto millions = [](double rows) { return launch::number_text("%.2f", rows / 1e6); };
  const auto shares = shares_of(figures);
  const auto ours = over(figures.rows_per_round, figures.seconds);
  const auto bare = over(figures.bare_rows_per_round, figures.bare_seconds);
  std::string text =
      std::to_string(options.rows.rows) + " rows of " + std::to_string(options.rows.dim) +
      ", batches of " + std::to_string(options.rows.batch) + ", " +
      std::to_string(options.workers) + " workers, " + std::to_string(options.shards) +
      " shards" +
      (options.rows.memory > 0 ? " with " + launch::bytes_for_people(options.rows.memory) +
                                     " of memory for values and state"
                               : "") +
      "; values compared " + std::to_string(figures.verified) + " times\n\n";
  text += launch::format_table({{"pulled and pushed", "M rows/s", "roofline", "share", "10 %",
                                 "90 %", "M rows/CPU s of servers"},
                                {"all workers", millions(median(ours)), millions(median(bare)),
                                 launch::number_text("%.2f", median(shares)),
                                 launch::number_text("%.2f", percentile(shares, 0.1)),
                                 launch::number_text("%.2f", percentile(shares, 0.9)),
                                 millions(rows_per_cpu_second(figures))}},
                               {1, 2, 3, 4, 5, 6});
  text += "\n" +
          launch::format_table({{"pulls of " + std::to_string(figures.batch_growing) + " rows",
                                 "median ms", "p99 ms", "p99.9 ms", "worst ms"},
                                pull_cells("while the table grows", figures.pulls_growing),
                                pull_cells("of the grown table", figures.pulls_grown)},
                               {1, 2, 3, 4});
  return text;
}

std::string rows_cluster_json(const bench_options& options,
                              const rows_cluster_figures& figures) {
  const nlohmann::ordered_json root{
      {"kind", "rows of a cluster"},
      {"workers", options.workers},
      {"shards", options.shards},
      {"replicas", options.replicas},
      {"transport", launch::word(launch::transport_words, options.transport)},
      {"cores", cpus_of_pin(options.pin)},
      {"rows", options.rows.rows},
      {"dim", options.rows.dim},
      {"batch", options.rows.batch},
      {"zipf", options.rows.zipf},
      {"memory", options.rows.memory},
      {"clocks_of_round", clocks_of_round},
      {"rows_per_round", figures.rows_per_round},
      {"roofline_rows_per_round", figures.bare_rows_per_round},
      {"seconds", figures.seconds},
      {"roofline_seconds", figures.bare_seconds},
      {"share", median(shares_of(figures))},
      {"rows_per_servers_cpu_second", rows_per_cpu_second(figures)},
      {"servers_cpu_seconds", figures.servers_cpu_seconds},
      {"workers_cpu_seconds", figures.workers_cpu_seconds},
      {"verified", figures.verified},
      {"batch_growing", figures.batch_growing},
      {"pulls_growing", pulls_json(figures.pulls_growing)},
      {"pulls_grown", pulls_json(figures.pulls_grown)}};
  return root.dump(2) + "\n";
}

}  // namespace tidegate::bench
