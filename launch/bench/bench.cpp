#include "launch/bench/bench.hpp"

#include <iostream>

#include "launch/bench/device_bench.hpp"
#include "launch/bench/exchange.hpp"
#include "launch/bench/options.hpp"
#include "launch/bench/plot.hpp"
#include "launch/bench/report.hpp"
#include "launch/bench/roofline.hpp"
#include "launch/bench/rows_bench.hpp"
#include "launch/bench/rows_cluster.hpp"
#include "launch/bench/rows_worker.hpp"
#include "launch/bench/sizes.hpp"
#include "launch/bench/statistics.hpp"
#include "launch/bench/worker.hpp"
#include "launch/text/exit_code.hpp"
#include "launch/text/files.hpp"
#include "runtime/device/open/open_device.hpp"

namespace tidegate::bench {

namespace {

using launch::exit_code;
using runtime::status;

// The device to be measured is not here, so that scripts can tell that from a failure: what
// CTest takes for skipped.
constexpr int exit_no_device = 77;

// Text for people to standard output, JSON to its file; "-" puts JSON in place of the text.
status put_out(const std::string& text, const std::string& json, const std::string& json_file) {
  std::cout << (json_file == "-" ? json : text) << std::flush;
  if (json_file.empty() || json_file == "-") return {};
  return launch::write_file_atomically(json_file, json);
}

status run_roofline(const bench_options& options) {
  roofline_options wanted;
  wanted.bytes = options.bytes;
  wanted.threads = options.threads;
  if (!options.inputs.empty()) wanted.inputs = options.inputs;
  if (options.one_optimizer) wanted.optimizers = {options.optimizer};
  wanted.rounds = options.rounds;
  const auto ceilings = measure_roofline(wanted);
  if (!ceilings) return ceilings.error();
  return put_out(roofline_table(*ceilings), roofline_json(*ceilings), options.json);
}

runtime::expected<std::vector<exchange_result>> measure_sizes(const bench_options& options) {
  std::vector<exchange_result> results;
  for (const auto bytes : options.bytes) {
    auto result = measure_exchange(options, bytes);
    if (!result)
      return runtime::fail(result.error().code(),
                           format_size(bytes) + ": " + result.error().message());
    results.push_back(std::move(*result));
  }
  return results;
}

status run_exchange(const bench_options& options) {
  const auto results = measure_sizes(options);
  if (!results) return results.error();
  if (!options.svg.empty()) {
    plot_data data{"exchange time (median), " + std::to_string(options.workers) + " workers, " +
                       std::to_string(options.shards) + " shards",
                   {{"tidegate", {}}}};
    for (const auto& r : *results)
      data.series[0].points.push_back({static_cast<double>(r.bytes), median(r.seconds)});
    if (auto drawn = launch::write_file_atomically(options.svg, plot_svg(data)); !drawn.ok())
      return drawn;
  }
  return put_out(exchange_table(options, *results), exchange_json(options, *results),
                 options.json);
}

status run_latency(const bench_options& options) {
  const auto results = measure_sizes(options);
  if (!results) return results.error();
  return put_out(latency_table(*results), latency_json(options, *results), options.json);
}

status run_device(const bench_options& options) {
  const device_options wanted{.device = options.device,
                              .bytes = options.bytes.front(),
                              .inputs = options.inputs,
                              .chunks = options.chunks,
                              .repeats = options.repeats};
  const auto rates = measure_device(wanted);
  if (!rates) return rates.error();
  return put_out(device_table(*rates), device_json(wanted, *rates), options.json);
}

status run_rows_cluster(const bench_options& options) {
  const auto figures = measure_rows_cluster(options);
  if (!figures) return figures.error();
  return put_out(rows_cluster_table(options, *figures), rows_cluster_json(options, *figures),
                 options.json);
}

status run_rows(const bench_options& options) {
  if (options.of_cluster) return run_rows_cluster(options);
  auto wanted = options.rows;
  wanted.repeats = options.repeats;
  const auto figures = measure_rows(wanted);
  if (!figures) return figures.error();
  return put_out(rows_table(wanted, *figures), rows_json(wanted, *figures), options.json);
}

status run_plot(const bench_options& options) {
  const auto text = launch::read_file(options.file);
  if (!text) return text.error();
  const auto data = parse_plot(*text);
  if (!data) return {data.error().code(), options.file + ": " + data.error().message()};
  return launch::write_file_atomically(options.svg, plot_svg(*data));
}

status run_subject(const bench_options& options) {
  switch (options.subject) {
    case subject::roofline:
      return run_roofline(options);
    case subject::exchange:
      return run_exchange(options);
    case subject::latency:
      return run_latency(options);
    case subject::device:
      return run_device(options);
    case subject::rows:
      return run_rows(options);
    case subject::plot:
      return run_plot(options);
    case subject::help:
      break;
  }
  std::cout << bench_help(options.topic);
  return {};
}

int exit_with(const status& result) {
  if (result.ok()) return static_cast<int>(exit_code::done);
  std::cerr << "tidegate: " << result.message() << "\n";
  return static_cast<int>(result.code() == runtime::errc::invalid_argument
                              ? exit_code::bad_usage
                              : exit_code::job_failed);
}

}  // namespace

bool is_bench(const std::vector<std::string>& args) {
  if (args.empty()) return false;
  const bool help = args[0] == "help" || args[0] == "--help" || args[0] == "-h";
  return args[0] == "bench" || args[0] == "bench-worker" || args[0] == "bench-rows-worker" ||
         (help && args.size() > 1 && args[1] == "bench");
}

int run_bench(const std::vector<std::string>& args) {
  std::vector<std::string> rest(args.begin() + 1, args.end());
  if (args[0] == "bench-worker") return run_worker(rest);
  if (args[0] == "bench-rows-worker") return run_rows_worker(rest);
  if (args[0] != "bench") rest = {"--help"};
  const auto options = parse_bench(rest);
  if (!options) return exit_with(options.error());
  if (!options->device.empty()) {
    if (const auto here = runtime::devices::check_device(options->device); !here.ok()) {
      std::cerr << "tidegate: " << here.message() << "\n";
      return exit_no_device;
    }
  }
  return exit_with(run_subject(*options));
}

}  // namespace tidegate::bench
