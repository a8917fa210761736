#include "launch/monitor/otlp_document.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace tidegate::launch {
namespace {

using json = nlohmann::json;

json parsed(otlp_document& document) {
  return json::parse(document.finish());
}

const json& metrics_of(const json& document) {
  return document.at("resourceMetrics").at(0).at("scopeMetrics").at(0).at("metrics");
}

TEST(otlp_document, has_sums_gauges_and_infos) {
  counter_starts starts(100);
  otlp_document document({"mine", "1.2.3", "blue:/run", "blue"}, starts, 900);
  document.family("tidegate_run", metric_kind::info, "1, with the state");
  document.sample({{"state", "running"}}, 1);
  document.family("tidegate_nothing", metric_kind::gauge, "Without a sample");
  document.family("tidegate_worker_seconds", metric_kind::counter, "Seconds");
  document.sample({{"job", "m"}, {"rank", "0"}}, 2.5);
  document.family("tidegate_epoch", metric_kind::gauge, "The epoch");
  document.sample({}, 3);
  const auto text = parsed(document);
  const auto& resource = text.at("resourceMetrics").at(0);
  json attributes;
  for (const auto& of : resource.at("resource").at("attributes"))
    attributes[of.at("key")] = of.at("value").at("stringValue");
  EXPECT_EQ(attributes, json::parse(R"({"service.name": "tidegate", "service.version": "1.2.3",
      "service.instance.id": "blue:/run", "host.name": "blue", "tidegate.cluster": "mine"})"));
  EXPECT_EQ(resource.at("scopeMetrics").at(0).at("scope"),
            json::parse(R"({"name": "tidegate", "version": "1.2.3"})"));
  EXPECT_EQ(metrics_of(text), json::parse(R"([
      {"name": "tidegate_run_info", "description": "1, with the state", "unit": "",
       "gauge": {"dataPoints": [{"timeUnixNano": "900", "asDouble": 1.0,
         "attributes": [{"key": "state", "value": {"stringValue": "running"}}]}]}},
      {"name": "tidegate_worker_seconds", "description": "Seconds", "unit": "s",
       "sum": {"aggregationTemporality": 2, "isMonotonic": true, "dataPoints": [
         {"timeUnixNano": "900", "startTimeUnixNano": "100", "asDouble": 2.5,
          "attributes": [{"key": "job", "value": {"stringValue": "m"}},
                         {"key": "rank", "value": {"stringValue": "0"}}]}]}},
      {"name": "tidegate_epoch", "description": "The epoch", "unit": "",
       "gauge": {"dataPoints": [{"timeUnixNano": "900", "asDouble": 3.0}]}}])"));
}

TEST(otlp_document, begins_a_counter_anew_that_has_gone_down) {
  counter_starts starts(100);
  const auto start = [&](const std::string& rank, double value, std::int64_t unix_ns) {
    otlp_document document({}, starts, unix_ns);
    document.family("tidegate_samples", metric_kind::counter, "Samples");
    document.sample({{"job", "m"}, {"rank", rank}}, value);
    const auto text = parsed(document);
    return metrics_of(text)[0]["sum"]["dataPoints"][0]["startTimeUnixNano"].get<std::string>();
  };
  EXPECT_EQ(start("0", 50, 200), "100");
  EXPECT_EQ(start("0", 50, 300), "100");
  EXPECT_EQ(start("1", 7, 300), "100");
  EXPECT_EQ(start("0", 10, 400), "300") << "since when it was last seen";
  EXPECT_EQ(start("0", 70, 500), "300");
  EXPECT_EQ(start("1", 8, 500), "100") << "each by its labels";
  EXPECT_EQ(start("1", 3, 900), "500");
}

TEST(otlp_document, is_json_whatever_names_and_values_are) {
  counter_starts starts(1);
  otlp_document document({"a\"b\n\xff", "", "", ""}, starts, 2);
  document.family("tidegate_reported", metric_kind::gauge, "A \"help\"");
  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity()})
    document.sample({{"name", "\xff"}}, value);
  const auto text = parsed(document);
  const auto& points = metrics_of(text)[0]["gauge"]["dataPoints"];
  EXPECT_EQ(points[0]["asDouble"], "NaN");
  EXPECT_EQ(points[1]["asDouble"], "Infinity");
  EXPECT_EQ(points[2]["asDouble"], "-Infinity");
  EXPECT_EQ(points[0]["attributes"][0]["value"]["stringValue"], "\xef\xbf\xbd");
}

TEST(otlp_document, without_samples_is_whole) {
  counter_starts starts(1);
  otlp_document document({}, starts, 2);
  document.family("tidegate_clock", metric_kind::gauge, "Clocks");
  EXPECT_EQ(metrics_of(parsed(document)), json::array());
}

TEST(refusal_of, an_answer_tells_points_that_were_not_taken) {
  for (const auto* good :
       {"", "{}", "no JSON", "[]", R"({"partialSuccess": {}})", R"({"partialSuccess": 7})",
        R"({"partialSuccess": {"rejectedDataPoints": "0", "errorMessage": "a hint"}})"})
    EXPECT_TRUE(refusal_of(good).ok()) << good;
  EXPECT_EQ(refusal_of(R"({"partialSuccess": {"rejectedDataPoints": "5",
                           "errorMessage": "too\nold"}})")
                .message(),
            "the collector has not taken 5 points: too old");
  EXPECT_EQ(refusal_of(R"({"partialSuccess": {"rejectedDataPoints": 5}})").message(),
            "the collector has not taken 5 points");
}

}  // namespace
}  // namespace tidegate::launch
