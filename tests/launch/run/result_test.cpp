#include "launch/run/result.hpp"

#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tidegate::launch {
namespace {

using nlohmann::json;

TEST(result, holds_what_was_reported_and_null_for_the_rest) {
  policies::job_status job;
  job.name = "mlp";
  job.policy = "bsp";
  job.state = policies::job_state::done;
  job.metrics = {{"test_accuracy", 0.875}, {"f1", 0.5}};
  job.seconds = 4;
  job.samples = 100;
  job.loss = 0.25;
  job.clock_slowest = 7;
  job.staleness_max = 2;
  job.restarts = 3;
  job.payload_bytes_copied = 12;
  job.parameters_sha256 = "ff";
  policies::job_status silent;
  silent.name = "silent";
  silent.loss = std::numeric_limits<double>::quiet_NaN();
  const auto root = json::parse(result_json("c", {job, silent}, 0));
  const auto& shown = root["jobs"][0];
  EXPECT_EQ(shown["test_accuracy"], 0.875);
  EXPECT_EQ(shown["loss"], 0.25) << "the last one reported while it ran";
  EXPECT_EQ(shown["wall_seconds"], 4);
  EXPECT_EQ(shown["samples_per_second"], 25);
  EXPECT_EQ(shown["staleness_max"], 2);
  EXPECT_EQ(shown["payload_bytes_copied"], 12);
  EXPECT_EQ(shown["clocks"], 7);
  EXPECT_EQ(shown["restarts"], 3);
  EXPECT_EQ(shown["parameters_sha256"], "ff");
  EXPECT_EQ(shown["metrics"], (json{{"f1", 0.5}}));
  EXPECT_EQ(shown["failure"], nullptr);
  const auto& two = root["jobs"][1];
  for (const auto* key : {"test_accuracy", "loss", "samples_per_second", "parameters_sha256"}) {
    EXPECT_EQ(two.at(key), nullptr) << key;
  }
  EXPECT_EQ(root["exit_code"], 0);
}

TEST(result, takes_text_that_is_no_utf8) {
  policies::job_status job;
  job.failure = "bad \xff byte";
  EXPECT_TRUE(json::parse(result_json("c", {job}, 1))["jobs"][0]["failure"].is_string());
}

TEST(result, says_how_the_run_ended) {
  EXPECT_EQ(exit_code_of(result_json("c", {}, 3)), 3);
  EXPECT_EQ(exit_code_of(result_json("c", {}, 0)), 0);
  for (const auto* text : {"", "[]", "{}", R"({"exit_code": "0"})", R"({"exit_code": 0)"})
    EXPECT_EQ(exit_code_of(text), std::nullopt) << text;
}

TEST(events, are_one_line_each) {
  const auto line = event_line(
      {.unix_ns = 1'700'000'000'123'456'789, .subject = "job_done", .detail = "two\nlines"});
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const auto event = json::parse(line);
  EXPECT_EQ(event["unix_ns"], 1'700'000'000'123'456'789);
  EXPECT_EQ(event["time"], "2023-11-14T22:13:20.123Z");
  EXPECT_EQ(event["detail"], "two\nlines");
}

TEST(events, are_never_earlier_than_they_may_be) {
  const auto late =
      json::parse(event_line({.unix_ns = 7, .subject = "worker_joined", .detail = ""}, 9));
  EXPECT_EQ(late["unix_ns"], 9);
  EXPECT_EQ(late["happened_ns"], 7);
  const auto line = event_line({.unix_ns = 9, .subject = "worker_joined", .detail = ""}, 9);
  EXPECT_FALSE(json::parse(line).contains("happened_ns"));
  EXPECT_EQ(event_time_of(line), 9);
  for (const auto* text : {"", "{}", "[9]", R"({"unix_ns": "9"})"})
    EXPECT_EQ(event_time_of(text), 0) << text;
}

}  // namespace
}  // namespace tidegate::launch
