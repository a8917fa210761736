#include "launch/run/result.hpp"

#include <algorithm>
#include <ctime>

#include <nlohmann/json.hpp>

#include "launch/run/job_json.hpp"

namespace tidegate::launch {

namespace {

using json = nlohmann::ordered_json;

// Text of processes may hold bytes that are no UTF-8.
std::string dump(const json& value, int indent) {
  return value.dump(indent, ' ', false, json::error_handler_t::replace) + "\n";
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

namespace {

// What the event is not about is left out.
void add_fields(json& line, const policies::event_fields& about) {
  const bool is_of_worker = !about.job.empty() && about.rank != policies::event_fields::no_rank;
  const auto process = about.process.empty() && is_of_worker
                           ? policies::process_name{.role = policies::process_role::worker,
                                                    .job = about.job,
                                                    .index = about.rank}
                                 .to_string()
                           : about.process;
  if (!process.empty()) line["process"] = process;
  if (!about.job.empty()) line["job"] = about.job;
  if (is_of_worker) line["rank"] = about.rank;
  if (about.clock != policies::event_fields::no_clock) line["clock"] = about.clock;
  if (!about.cause.empty()) line["cause"] = about.cause;
}

}  // namespace

std::string event_line(const policies::cluster_event& event, std::int64_t not_before) {
  const auto unix_ns = std::max(event.unix_ns, not_before);
  json line{{"unix_ns", unix_ns},
            {"time", iso_time(unix_ns)},
            {"kind", event.subject},
            {"detail", event.detail}};
  add_fields(line, event.about);
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
