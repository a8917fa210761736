// A trace shows what each process did, and leads from a push to the answer that ends it.
#include "launch/trace/trace_text.hpp"

#include <map>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "runtime/base/frame_header.hpp"
#include "tests/launch/trace/noted_span.hpp"

namespace tidegate::launch {
namespace {

using nlohmann::json;
using runtime::frame_kind;
using runtime::span_kind;
using runtime::trace_span;
using runtime::traced_call;

// Clock 5 and the beginning of clock 6, of rank 1 with shard 0.
std::vector<process_spans> a_push() {
  return {{.writer = "worker-mlp-1",
           .spans = {span(100'000, 110'000, span_kind::call, traced_call::exchange, 5),
                     span(110'000, 400'500, span_kind::wait, 0, 0),
                     span(390'000, 391'000, span_kind::answer, frame_kind::pull_reply, 6, 0),
                     span(900'000, 910'000, span_kind::call, traced_call::exchange, 6)}},
          {.writer = "shard-0",
           .spans = {span(150'000, 160'000, span_kind::frame, frame_kind::push, 5, 1),
                     span(300'000, 380'000, span_kind::step, 0, 5)}}};
}

json events_of(const std::string& text) {
  return json::parse(text)["traceEvents"];
}

std::vector<json> named(const json& events, const std::string& phase, const std::string& name) {
  std::vector<json> found;
  for (const auto& each : events)
    if (each["ph"] == phase && each["name"] == name) found.push_back(each);
  return found;
}

TEST(trace_text, shows_spans_in_microseconds_since_the_first) {
  const auto [text, summary] = trace_text(a_push(), {});
  const auto events = events_of(text);
  const auto calls = named(events, "X", "exchange");
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0]["ts"], 0.0);
  EXPECT_EQ(calls[0]["dur"], 10.0);
  EXPECT_EQ(calls[0]["args"]["clock"], 5);
  EXPECT_EQ(named(events, "X", "waits").at(0)["dur"], 290.5);
  EXPECT_EQ(named(events, "X", "waits").at(0)["args"]["clock"], 5) << "it was in clock 5 still";
  EXPECT_EQ(summary.spans, 6U);
  EXPECT_EQ(summary.processes, 2U);
  EXPECT_EQ(summary.clocks.at("mlp").first, 5U);
  EXPECT_EQ(summary.clocks.at("mlp").last, 6U);
}

TEST(trace_text, shows_what_a_program_computes_between_calls) {
  const auto computes = named(events_of(trace_text(a_push(), {}).first), "X", "computes");
  ASSERT_EQ(computes.size(), 1U);
  EXPECT_EQ(computes[0]["ts"], 300.5);
  EXPECT_EQ(computes[0]["dur"], 499.5);
}

TEST(trace_text, leads_from_a_push_over_its_step_to_the_answer) {
  const auto events = events_of(trace_text(a_push(), {}).first);
  std::map<std::string, json> points;
  for (const auto& each : events)
    if (each.contains("id")) points[each["ph"].get<std::string>() + each["ts"].dump()] = each;
  ASSERT_EQ(points.size(), 4U) << events.dump(1);
  std::set<int> numbers;
  for (const auto& [key, point] : points) numbers.insert(point["id"].get<int>());
  EXPECT_EQ(numbers.size(), 1U) << "one arrow";
  EXPECT_TRUE(points.contains("s0.0"));
  EXPECT_TRUE(points.contains("t50.0"));
  EXPECT_TRUE(points.contains("t200.0"));
  EXPECT_TRUE(points.contains("f290.0"));
  EXPECT_NE(points["s0.0"]["pid"], points["t50.0"]["pid"]);
  EXPECT_EQ(points["s0.0"]["pid"], points["f290.0"]["pid"]);
}

TEST(trace_text, leaves_out_other_clocks) {
  const auto [text, summary] = trace_text(a_push(), clock_range{6, 9});
  EXPECT_EQ(summary.spans, 1U);
  EXPECT_EQ(named(events_of(text), "X", "exchange").size(), 1U);
  EXPECT_EQ(trace_text(a_push(), clock_range{5, 5}).second.spans, 5U);
  const auto [nothing, empty] = trace_text(a_push(), clock_range{100, 120});
  EXPECT_EQ(empty.spans, 0U);
  EXPECT_TRUE(events_of(nothing).empty());
}

// A doorbell is a push, a skip or a pull, as its flags say; and only some calls push.
TEST(trace_text, leads_from_pushes_alone) {
  auto all = a_push();
  auto& ring = all[1].spans[0];
  ring.detail = static_cast<std::uint8_t>(frame_kind::doorbell);
  ring.extra = runtime::frame_flag_pull;
  const auto arrows = [&] {
    std::size_t found = 0;
    for (const auto& each : events_of(trace_text(all, {}).first))
      found += each["ph"] == "s" ? 1 : 0;
    return found;
  };
  EXPECT_EQ(arrows(), 0U);
  ring.extra |= runtime::frame_flag_push;
  EXPECT_EQ(arrows(), 1U);
  for (const auto call : {traced_call::pull, traced_call::clock, traced_call::other}) {
    all[0].spans[0].detail = static_cast<std::uint8_t>(call);
    EXPECT_EQ(arrows(), 0U);
  }
}

// A replica that has become a shard says by its steps which.
TEST(trace_text, leads_to_the_answer_of_the_shard_that_a_replica_has_become) {
  auto all = a_push();
  all[1].writer = "replica-4";
  all[1].spans[1].peer = 3;
  auto answer = all[0].spans[2];
  answer.peer = 3;
  answer.begin_ns += 1'000;
  answer.end_ns += 1'000;
  all[0].spans.insert(all[0].spans.begin() + 3, answer);
  std::string ends;
  for (const auto& each : events_of(trace_text(all, {}).first))
    if (each["ph"] == "f") ends += each["ts"].dump() + " ";
  EXPECT_EQ(ends, "291.0 ");
}

TEST(trace_text, shows_what_a_replica_takes_and_when_it_is_waited_for) {
  auto all = a_push();
  auto& wait = all[1].spans.emplace_back(all[1].spans[1]);  // as long as a step
  wait.kind = span_kind::replica;
  wait.clock = 0;
  process_spans replica{.writer = "replica-0"};
  replica.spans.push_back(all[1].spans[0]);
  replica.spans[0].detail = static_cast<std::uint8_t>(frame_kind::step);
  all.push_back(replica);
  for (const auto& clocks : {std::optional<clock_range>(), std::optional(clock_range{5, 5})}) {
    const auto events = events_of(trace_text(all, clocks).first);
    EXPECT_EQ(named(events, "X", "waits for replica").size(), 1U);
    const auto taken = named(events, "X", "replicate");
    ASSERT_EQ(taken.size(), 1U);
    EXPECT_FALSE(taken[0]["args"].contains("rank")) << "it is no worker's";
  }
  EXPECT_TRUE(
      named(events_of(trace_text(all, clock_range{6, 9}).first), "X", "waits for replica")
          .empty());
}

// Where a worker has one shard, nobody notes its answers.
TEST(trace_text, leads_to_the_end_of_a_wait_where_no_answer_is_noted) {
  auto all = a_push();
  std::erase_if(all[0].spans,
                [](const trace_span& each) { return each.kind == span_kind::answer; });
  std::string ends;
  for (const auto& each : events_of(trace_text(all, {}).first))
    if (each.contains("id") && each["ph"] == "f") ends += each["ts"].dump() + " ";
  EXPECT_EQ(ends, "300.499 ") << "within the wait, which ends at 300.5";
}

// Workers push to aggregators, and these to shards, under the rank of one of their workers.
TEST(trace_text, leads_from_an_aggregators_sum_to_shards) {
  const std::vector<process_spans> all{
      {.writer = "worker-mlp-1",
       .spans = {span(0, 10, span_kind::call, traced_call::push, 5),
                 span(900, 910, span_kind::answer, frame_kind::push_ack, 5, 0)}},
      {.writer = "aggregator-mlp-0",
       .spans = {span(100, 110, span_kind::frame, frame_kind::push, 5, 1),
                 span(200, 210, span_kind::step, 0, 5)}},
      {.writer = "shard-0",
       .spans = {span(300, 310, span_kind::frame, frame_kind::push, 5, 1),
                 span(400, 410, span_kind::step, 0, 5)}}};
  std::map<int, std::vector<double>> points;
  for (const auto& each : events_of(trace_text(all, {}).first))
    if (each.contains("id")) points[each["id"]].push_back(each["ts"]);
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[1], (std::vector<double>{0, 0.1, 0.2, 0.9}));
  EXPECT_EQ(points[2], (std::vector<double>{0.2, 0.3, 0.4}));
}

TEST(trace_text, tells_incarnations_and_hosts_apart) {
  auto all = a_push();
  all[1].host = "blue";
  all.push_back(all[0]);
  all.back().incarnation = 2;
  const auto events = events_of(trace_text(all, {}).first);
  std::set<std::string> titles;
  for (const auto& each : named(events, "M", "process_name"))
    titles.insert(each["args"]["name"].get<std::string>());
  EXPECT_EQ(titles,
            (std::set<std::string>{"worker-mlp-1", "worker-mlp-1/2", "shard-0 on blue"}));
}

}  // namespace
}  // namespace tidegate::launch
