#include "launch/run/job_json.hpp"

#include <cmath>
#include <string>
#include <vector>

#include "launch/text/progress_text.hpp"

namespace tidegate::launch {

using json = nlohmann::ordered_json;

json finite_json(double value) {
  return std::isfinite(value) ? json(value) : json(nullptr);
}

namespace {

json metric_json(const policies::job_status& job, const std::string& name) {
  const auto at = job.metrics.find(name);
  return at == job.metrics.end() ? json(nullptr) : finite_json(at->second);
}

json text_or_null(const std::string& text) {
  return text.empty() ? json(nullptr) : json(text);
}

json changes_json(const std::vector<policies::membership_change>& changes) {
  json all = json::array();
  for (const auto& change : changes)
    all.push_back({{"rank", change.rank}, {"clock", change.clock}, {"joins", change.joins}});
  return all;
}

}  // namespace

json job_json(const policies::job_status& job) {
  auto loss = metric_json(job, "loss");
  if (loss.is_null() && job.samples != 0) loss = finite_json(job.loss);
  json others = json::object();
  for (const auto& [name, value] : job.metrics) {
    if (name != "loss" && name != "test_accuracy") others[name] = finite_json(value);
  }
  return {{"name", job.name},
          {"policy", job.policy},
          {"state", to_string(job.state)},
          {"failure", text_or_null(job.failure)},
          {"test_accuracy", metric_json(job, "test_accuracy")},
          {"loss", loss},
          {"wall_seconds", finite_json(job.seconds)},
          {"samples_per_second",
           job.samples == 0 ? json(nullptr) : finite_json(samples_per_second(job))},
          {"staleness_max", job.staleness_max},
          {"staleness", job.staleness},
          {"payload_bytes_copied", job.payload_bytes_copied},
          {"clocks", job.clock_slowest},
          {"restarts", job.restarts},
          {"changes", changes_json(job.changes)},
          {"ranks_left", policies::ranks_left(job.changes)},
          {"parameters_sha256", text_or_null(job.parameters_sha256)},
          {"metrics", others}};
}

}  // namespace tidegate::launch
