#include <nlohmann/json.hpp>

#include "launch/bench/device_bench.hpp"
#include "launch/bench/sizes.hpp"
#include "launch/bench/statistics.hpp"
#include "launch/text/text_table.hpp"
#include "runtime/optimizers/registry.hpp"

namespace tidegate::bench {

namespace {

// Of the repeats of a step.
struct rate_summary {
  double seconds = 0;  // medians
  double gb_per_s = 0;
  double copy_gb_per_s = 0;
  double share = 0;
  double share_min = 0;
  double share_max = 0;
};

rate_summary summary_of(const device_rate& rate) {
  std::vector<double> shares;
  for (std::size_t i = 0; i < rate.seconds.size(); ++i) shares.push_back(rate.share(i));
  rate_summary result;
  result.seconds = median(rate.seconds);
  result.gb_per_s = static_cast<double>(rate.bytes_moved) / result.seconds / 1e9;
  result.copy_gb_per_s = static_cast<double>(rate.copy_bytes) / median(rate.copy_seconds) / 1e9;
  result.share = median(shares);
  result.share_min = percentile(shares, 0);
  result.share_max = percentile(shares, 1);
  return result;
}

std::string path_name(step_path path) {
  switch (path) {
    case step_path::kernel:
      return "kernel";
    case step_path::queue:
      return "queue";
    case step_path::host:
      break;
  }
  return "host";
}

}  // namespace

std::string device_table(const std::vector<device_rate>& rates) {
  std::vector<std::vector<std::string>> rows{{"path", "optimizer", "inputs", "chunk",
                                              "median us", "GB/s", "copy GB/s", "share", "min",
                                              "max"}};
  for (const auto& rate : rates) {
    const auto found = summary_of(rate);
    const auto& step = rate.step;
    rows.push_back({path_name(step.path), std::string(runtime::optimizer_name(step.optimizer)),
                    std::to_string(step.inputs),
                    step.chunk_bytes == 0 ? "-" : format_size(step.chunk_bytes),
                    launch::number_text("%.1f", found.seconds * 1e6),
                    launch::number_text("%.2f", found.gb_per_s),
                    launch::number_text("%.2f", found.copy_gb_per_s),
                    launch::number_text("%.3f", found.share),
                    launch::number_text("%.3f", found.share_min),
                    launch::number_text("%.3f", found.share_max)});
  }
  return launch::format_table(rows, {2, 3, 4, 5, 6, 7, 8, 9});
}

std::string device_json(const device_options& options, const std::vector<device_rate>& rates) {
  nlohmann::ordered_json root{{"kind", "device"},
                              {"device", options.device},
                              {"bytes", options.bytes},
                              {"repeats", options.repeats}};
  root["steps"] = nlohmann::ordered_json::array();
  for (const auto& rate : rates) {
    const auto found = summary_of(rate);
    root["steps"].push_back({{"path", path_name(rate.step.path)},
                             {"optimizer", runtime::optimizer_name(rate.step.optimizer)},
                             {"inputs", rate.step.inputs},
                             {"chunk_bytes", rate.step.chunk_bytes},
                             {"bytes_moved", rate.bytes_moved},
                             {"copy_bytes", rate.copy_bytes},
                             {"batch_steps", rate.steps},
                             {"median_seconds", found.seconds},
                             {"gb_per_s", found.gb_per_s},
                             {"copy_gb_per_s", found.copy_gb_per_s},
                             {"share", found.share},
                             {"share_min", found.share_min},
                             {"share_max", found.share_max},
                             {"seconds", rate.seconds},
                             {"copy_seconds", rate.copy_seconds}});
  }
  return root.dump(2) + "\n";
}

}  // namespace tidegate::bench
