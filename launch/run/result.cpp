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

std::string launcher_json(const policies::launcher_mark& mark) {
  return dump({{"pid", mark.pid},
               {"started", mark.started},
               {"session", mark.session},
               {"token", mark.token}},
              1);
}

runtime::expected<policies::launcher_mark> parse_launcher(const std::string& text) {
  const auto root = json::parse(text, nullptr, false);
  const auto number = [&](const char* key) {
    return root.is_object() && root.contains(key) && root[key].is_number_unsigned();
  };
  const bool has_token =
      root.is_object() && root.contains("token") && root["token"].is_string();
  if (!number("pid") || !number("started") || !number("session") || !has_token)
    return runtime::fail(runtime::errc::corrupt,
                         "launcher.json is not what tidegate launch writes");
  return policies::launcher_mark{.pid = root["pid"].get<std::int32_t>(),
                                 .started = root["started"].get<std::uint64_t>(),
                                 .session = root["session"].get<std::int32_t>(),
                                 .token = root["token"].get<std::string>()};
}

std::string pids_json(const std::vector<live_process>& processes) {
  json list = json::array();
  for (const auto& p : processes) {
    list.push_back({{"role", to_string(p.name.role)},
                    {"job", p.name.job},
                    {"index", p.name.index},
                    {"pid", p.pid},
                    {"started", p.started}});
  }
  return dump(list, 1);
}

runtime::expected<std::vector<live_process>> parse_pids(const std::string& text) {
  const auto corrupt = [] {
    return runtime::fail(runtime::errc::corrupt,
                         "pids.json is not what tidegate launch writes");
  };
  const auto list = json::parse(text, nullptr, false);
  if (!list.is_array()) return corrupt();
  std::vector<live_process> all;
  for (const auto& entry : list) {
    if (!entry.is_object()) return corrupt();
    const auto word = entry.find("role"), job = entry.find("job"), index = entry.find("index"),
               pid = entry.find("pid"), started = entry.find("started");
    for (const auto& field : {word, job, index, pid, started})
      if (field == entry.end()) return corrupt();
    if (!word->is_string() || !job->is_string() || !index->is_number_unsigned() ||
        !pid->is_number_unsigned() || !started->is_number_unsigned())
      return corrupt();
    const auto role = policies::role_of(word->get_ref<const std::string&>());
    // 1 and below would be signals to all.
    if (!role || pid->get<std::uint64_t>() < 2 || pid->get<std::uint64_t>() > 1U << 22U)
      return corrupt();
    all.push_back({{.role = *role, .job = *job, .index = index->get<std::uint32_t>()},
                   pid->get<int>(),
                   started->get<std::uint64_t>()});
  }
  return all;
}

}  // namespace tidegate::launch
