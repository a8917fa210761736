#include "launch/run/result.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>

#include <nlohmann/json.hpp>

#include "launch/text/progress_text.hpp"

namespace tidegate::launch {

namespace {

using json = nlohmann::ordered_json;

// Text of processes may hold bytes that are no UTF-8.
std::string dump(const json& value, int indent) {
  return value.dump(indent, ' ', false, json::error_handler_t::replace) + "\n";
}

json finite(double value) {
  return std::isfinite(value) ? json(value) : json(nullptr);
}

json metric_json(const policies::job_status& job, const std::string& name) {
  const auto at = job.metrics.find(name);
  return at == job.metrics.end() ? json(nullptr) : finite(at->second);
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

json job_json(const policies::job_status& job) {
  auto loss = metric_json(job, "loss");
  if (loss.is_null() && job.samples != 0) loss = finite(job.loss);
  json others = json::object();
  for (const auto& [name, value] : job.metrics) {
    if (name != "loss" && name != "test_accuracy") others[name] = finite(value);
  }
  return {{"name", job.name},
          {"policy", job.policy},
          {"state", to_string(job.state)},
          {"failure", text_or_null(job.failure)},
          {"test_accuracy", metric_json(job, "test_accuracy")},
          {"loss", loss},
          {"wall_seconds", finite(job.seconds)},
          {"samples_per_second",
           job.samples == 0 ? json(nullptr) : finite(samples_per_second(job))},
          {"staleness_max", job.staleness_max},
          {"payload_bytes_copied", job.payload_bytes_copied},
          {"clocks", job.clock_slowest},
          {"changes", changes_json(job.changes)},
          {"ranks_left", policies::ranks_left(job.changes)},
          {"parameters_sha256", text_or_null(job.parameters_sha256)},
          {"metrics", others}};
}

std::string iso_time(std::int64_t unix_ns) {
  const auto seconds = static_cast<std::time_t>(unix_ns / 1'000'000'000);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  char text[64];
  const auto n = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(text + n, sizeof text - n, ".%03dZ",
                static_cast<int>(unix_ns / 1'000'000 % 1000));
  return text;
}

}  // namespace

std::string result_json(const std::string& cluster,
                        const std::vector<policies::job_status>& jobs, int exit_code) {
  json root{{"cluster", cluster}};
  root["jobs"] = json::array();
  for (const auto& j : jobs) root["jobs"].push_back(job_json(j));
  root["exit_code"] = exit_code;
  return dump(root, 2);
}

std::optional<int> exit_code_of(const std::string& result_json) {
  const auto root = json::parse(result_json, nullptr, false);
  if (!root.is_object()) return std::nullopt;
  const auto at = root.find("exit_code");
  if (at == root.end() || !at->is_number_integer()) return std::nullopt;
  return at->get<int>();
}

std::string event_line(const policies::cluster_event& event, std::int64_t not_before) {
  const auto unix_ns = std::max(event.unix_ns, not_before);
  json line{{"unix_ns", unix_ns},
            {"time", iso_time(unix_ns)},
            {"what", event.subject},
            {"detail", event.detail}};
  if (unix_ns != event.unix_ns) line["happened_ns"] = event.unix_ns;
  return dump(line, -1);
}

std::int64_t event_time_of(const std::string& line) {
  const auto event = json::parse(line, nullptr, false);
  if (!event.is_object()) return 0;
  const auto at = event.find("unix_ns");
  return at == event.end() || !at->is_number_integer() ? 0 : at->get<std::int64_t>();
}

}  // namespace tidegate::launch
