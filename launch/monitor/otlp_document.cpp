#include "launch/monitor/otlp_document.hpp"

#include <cmath>
#include <utility>

#include "launch/text/printable.hpp"

namespace tidegate::launch {

namespace {

using json = nlohmann::ordered_json;

constexpr int cumulative = 2;  // AGGREGATION_TEMPORALITY_CUMULATIVE

json attribute(std::string_view name, const std::string& value) {
  return {{"key", name}, {"value", {{"stringValue", valid_utf8(value)}}}};
}

// The JSON of Protocol Buffers has names for what JSON has no number for.
json number_json(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

// Its 64-bit integers are texts.
std::string time_text(std::int64_t unix_ns) {
  return std::to_string(unix_ns);
}

std::string_view unit_of(std::string_view name) {
  if (name.ends_with("_seconds")) return "s";
  return name.ends_with("_bytes") ? "By" : "";
}

}  // namespace

std::int64_t counter_starts::start_of(const std::string& series, double value,
                                      std::int64_t unix_ns) {
  const seen first{.value = 0, .unix_ns = unix_ns, .start = begin_};
  auto& last = known_.try_emplace(series, first).first->second;
  // It is not known when it began anew, but for after the last look at it.
  if (value < last.value) last.start = last.unix_ns;
  last.value = value;
  last.unix_ns = unix_ns;
  return last.start;
}

otlp_document::otlp_document(otlp_resource of, counter_starts& starts, std::int64_t unix_ns)
    : resource_(std::move(of)), starts_(starts), unix_ns_(unix_ns) {}

void otlp_document::family(std::string_view name, metric_kind kind, std::string_view help) {
  end_family();
  is_counter_ = kind == metric_kind::counter;
  metric_ = {{"name", std::string(name) + (kind == metric_kind::info ? "_info" : "")},
             {"description", help},
             {"unit", unit_of(name)}};
}

void otlp_document::sample(const metric_labels& labels, double value) {
  json point{{"timeUnixNano", time_text(unix_ns_)}, {"asDouble", number_json(value)}};
  auto series = metric_.at("name").get<std::string>();
  auto attributes = json::array();
  for (const auto& [name, label] : labels) {
    attributes.push_back(attribute(name, label));
    series.append(1, '\0').append(label);
  }
  if (is_counter_)
    point["startTimeUnixNano"] = time_text(starts_.start_of(series, value, unix_ns_));
  if (!attributes.empty()) point["attributes"] = std::move(attributes);
  points_.push_back(std::move(point));
}

void otlp_document::end_family() {
  if (points_.empty()) return;
  json data{{"dataPoints", std::exchange(points_, json::array())}};
  if (is_counter_) {
    data["aggregationTemporality"] = cumulative;
    data["isMonotonic"] = true;
  }
  metric_[is_counter_ ? "sum" : "gauge"] = std::move(data);
  metrics_.push_back(std::move(metric_));
}

std::string otlp_document::finish() {
  end_family();
  const auto attributes = json::array({attribute("service.name", "tidegate"),
                                       attribute("service.version", resource_.version),
                                       attribute("service.instance.id", resource_.instance),
                                       attribute("host.name", resource_.host),
                                       attribute("tidegate.cluster", resource_.cluster)});
  json scope{{"scope", {{"name", "tidegate"}, {"version", resource_.version}}},
             {"metrics", std::move(metrics_)}};
  json of_resource{{"resource", {{"attributes", attributes}}},
                   {"scopeMetrics", json::array({std::move(scope)})}};
  return json{{"resourceMetrics", json::array({std::move(of_resource)})}}.dump(
      -1, ' ', false, json::error_handler_t::replace);
}

runtime::status refusal_of(const std::string& answer) {
  const auto parsed = json::parse(answer, nullptr, false);
  if (!parsed.is_object() || !parsed.contains("partialSuccess")) return {};
  const auto& partial = parsed["partialSuccess"];
  if (!partial.is_object() || !partial.contains("rejectedDataPoints")) return {};
  const auto& count = partial["rejectedDataPoints"];  // a text, as 64-bit integers are
  const auto number = count.is_string() ? count.get<std::string>() : count.dump();
  if (number == "0") return {};
  constexpr std::size_t bytes_told = 200;
  const auto why = partial.contains("errorMessage") && partial["errorMessage"].is_string()
                       ? ": " + partial["errorMessage"].get<std::string>()
                       : std::string();
  return {runtime::errc::refused,
          shortened("the collector has not taken " + number + " points" + why, bytes_told)};
}

}  // namespace tidegate::launch
