#include "launch/bench/report.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "launch/bench/cluster_run.hpp"
#include "launch/bench/sizes.hpp"
#include "launch/bench/statistics.hpp"
#include "launch/config/words.hpp"
#include "launch/text/text_table.hpp"

namespace tidegate::bench {

namespace {

using json = nlohmann::ordered_json;

std::string microseconds(double seconds) {
  return launch::number_text("%.1f", seconds * 1e6);
}

double payload_gb_per_s(const bench_options& options, const exchange_result& result) {
  return payload_bytes(options, result) / static_cast<double>(result.seconds.size()) /
         median(result.seconds) / 1e9;
}

double cpu_seconds_per_gb(const bench_options& options, const exchange_result& result) {
  return (result.workers_cpu_seconds + result.servers_cpu_seconds) /
         (payload_bytes(options, result) / 1e9);
}

// What was run, the same for every size.
json setting(const char* kind, const bench_options& options) {
  json all{{"kind", kind},
           {"workers", options.workers},
           {"shards", options.shards},
           {"replicas", options.replicas},
           {"optimizer", launch::word(launch::optimizer_words, options.optimizer)},
           {"transport", launch::word(launch::transport_words, options.transport)},
           {"encrypt", options.encrypt},
           {"traces", options.traces},
           {"tables", options.tables},
           {"repeat", options.repeats},
           {"device", options.device},
           {"pin", options.pin},
           {"cores", cpus_of_pin(options.pin)}};
  if (options.chunk_bytes != 0) all["chunk_bytes"] = options.chunk_bytes;
  for (const auto& host : options.hosts) all["hosts"].push_back(host.address);
  all["sizes"] = json::array();
  return all;
}

json times(const exchange_result& result) {
  json list = json::array();
  for (const double seconds : result.seconds) list.push_back(seconds);
  return list;
}

}  // namespace

double payload_bytes(const bench_options& options, const exchange_result& result) {
  return static_cast<double>(options.workers) * static_cast<double>(result.bytes) *
         static_cast<double>(result.seconds.size());
}

std::string exchange_table(const bench_options& options,
                           const std::vector<exchange_result>& results) {
  std::vector<std::vector<std::string>> rows{{"bytes", "exchanges", "verified", "min us",
                                              "median us", "max us", "payload GB/s",
                                              "CPU s/GB"}};
  for (const auto& r : results)
    rows.push_back({format_size(r.bytes), std::to_string(r.seconds.size()),
                    std::to_string(r.verified), microseconds(percentile(r.seconds, 0)),
                    microseconds(median(r.seconds)), microseconds(percentile(r.seconds, 1)),
                    launch::number_text("%.2f", payload_gb_per_s(options, r)),
                    launch::number_text("%.3f", cpu_seconds_per_gb(options, r))});
  return launch::format_table(rows, {0, 1, 2, 3, 4, 5, 6, 7});
}

std::string exchange_json(const bench_options& options,
                          const std::vector<exchange_result>& results) {
  auto root = setting("exchange", options);
  for (const auto& r : results) {
    json size{{"bytes", r.bytes},
              {"warmup", r.warmup},
              {"iterations", r.seconds.size()},
              {"verified", r.verified},
              {"min_seconds", percentile(r.seconds, 0)},
              {"median_seconds", median(r.seconds)},
              {"max_seconds", percentile(r.seconds, 1)},
              {"payload_gb_per_s", payload_gb_per_s(options, r)},
              {"cpu_seconds_per_gb", cpu_seconds_per_gb(options, r)},
              {"workers_cpu_seconds", r.workers_cpu_seconds},
              {"servers_cpu_seconds", r.servers_cpu_seconds},
              {"payload_bytes_copied",
               r.payload_bytes_copied ? json(*r.payload_bytes_copied) : json(nullptr)},
              {"seconds", times(r)}};
    root["sizes"].push_back(std::move(size));
  }
  return root.dump(2) + "\n";
}

std::string latency_table(const std::vector<exchange_result>& results) {
  std::vector<std::vector<std::string>> rows{
      {"bytes", "round trips", "p50 us", "p90 us", "p99 us", "max us"}};
  for (const auto& r : results)
    rows.push_back(
        {format_size(r.bytes), std::to_string(r.seconds.size()),
         microseconds(percentile(r.seconds, 0.5)), microseconds(percentile(r.seconds, 0.9)),
         microseconds(percentile(r.seconds, 0.99)), microseconds(percentile(r.seconds, 1))});
  return launch::format_table(rows, {0, 1, 2, 3, 4, 5});
}

std::string latency_json(const bench_options& options,
                         const std::vector<exchange_result>& results) {
  auto root = setting("latency", options);
  for (const auto& r : results)
    root["sizes"].push_back({{"bytes", r.bytes},
                             {"warmup", r.warmup},
                             {"iterations", r.seconds.size()},
                             {"verified", r.verified},
                             {"p50_seconds", percentile(r.seconds, 0.5)},
                             {"p90_seconds", percentile(r.seconds, 0.9)},
                             {"p99_seconds", percentile(r.seconds, 0.99)},
                             {"max_seconds", percentile(r.seconds, 1)}});
  return root.dump(2) + "\n";
}

}  // namespace tidegate::bench
