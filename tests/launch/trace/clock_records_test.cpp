// Spans of processes say of each clock where the time of its workers went, and who came last.
#include "launch/trace/clock_records.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "launch/trace/clock_text.hpp"
#include "launch/trace/span_names.hpp"
#include "runtime/base/frame_header.hpp"
#include "tests/launch/trace/noted_span.hpp"

namespace tidegate::launch {
namespace {

using runtime::frame_kind;
using runtime::span_kind;
using runtime::traced_call;
using testing::HasSubstr;

const job_staleness staleness{{"mlp", 0}};

// Clocks 4 to 6 of 100 ms each. Both workers compute until their exchange, which takes 2 ms,
// and wait for the rest; the answer of shard 1 comes 1 ms after that of shard 0.
process_spans worker(std::uint32_t rank, std::int64_t computes) {
  process_spans of{.writer = "worker-mlp-" + std::to_string(rank)};
  for (std::uint64_t clock = 4; clock <= 6; ++clock) {
    const auto begin = 100 * static_cast<std::int64_t>(clock);
    const auto called = begin + computes;
    of.spans.push_back(
        span(called * ms, (called + 2) * ms, span_kind::call, traced_call::exchange, clock));
    // A wait is noted without its job and clock.
    of.spans.push_back({.begin_ns = start + (called + 2) * ms,
                        .end_ns = start + (begin + 100) * ms,
                        .kind = span_kind::wait});
    for (std::uint32_t shard = 0; shard < 2; ++shard)
      of.spans.push_back(span((begin + 98 + shard) * ms, (begin + 98 + shard) * ms,
                              span_kind::answer, frame_kind::pull_reply, clock + 1, shard));
  }
  return of;
}

// Frames of the two come `late` apart, the second's last.
process_spans shard(std::uint32_t number, std::int64_t late, const std::string& of = "shard-") {
  process_spans process{.writer = of + std::to_string(number)};
  for (std::uint64_t clock = 4; clock <= 6; ++clock) {
    const auto begin = 100 * static_cast<std::int64_t>(clock);
    process.spans.push_back(span((begin + 31) * ms, (begin + 32) * ms, span_kind::frame,
                                 frame_kind::push, clock, 0));
    process.spans.push_back(span((begin + 31 + late) * ms, (begin + 32 + late) * ms,
                                 span_kind::frame, frame_kind::push, clock, 1));
  }
  return process;
}

std::vector<process_spans> cluster() {
  return {worker(0, 30), worker(1, 80), shard(0, 50), shard(1, 48)};
}

TEST(clock_records, say_where_the_time_went_and_who_came_last) {
  const auto records = clock_records(cluster(), staleness, {});
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(records[1].job, "mlp");
  EXPECT_EQ(records[1].clock, 5U);
  const auto& slow = records[1].workers.at(1);
  EXPECT_EQ(slow.began_ns, start + 500 * ms);
  EXPECT_EQ(slow.pushed_ns, start + 580 * ms);
  EXPECT_EQ(slow.ended_ns, start + 600 * ms);
  EXPECT_EQ(slow.compute_ns(), 80U * ms);
  EXPECT_EQ(slow.call_ns, 2U * ms);
  EXPECT_EQ(slow.wait_ns, 18U * ms);
  EXPECT_EQ(slow.late_ns, 48U * ms) << "as late as at the shard where it is least";
  EXPECT_EQ(slow.last_shard, 1U);
  EXPECT_EQ(slow.shard_late_ns, 1U * ms);
  EXPECT_EQ(records[1].workers.at(0).late_ns, 0U);
  EXPECT_EQ(records[1].last_rank(), 1U);
  EXPECT_EQ(records[1].last_shard(), 1U);
}

TEST(clock_records, of_a_clock_whose_begin_is_lost_are_left_out) {
  auto all = cluster();
  // The oldest that is left is a wait.
  auto& spans = all[1].spans;
  spans.erase(spans.begin());
  spans.insert(
      spans.begin(),
      {.begin_ns = start + 380 * ms, .end_ns = start + 380 * ms, .kind = span_kind::wait});
  all[1].is_cut = true;
  const auto records = clock_records(all, staleness, {});
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(records[0].workers.count(1) + records[1].workers.count(1), 0U);
  EXPECT_EQ(records[2].workers.at(1).late_ns, 48U * ms) << "its job is known by its calls";
}

// Lines of a file come in any order.
TEST(clock_records, of_the_first_clock_are_there_if_the_earliest_piece_is_whole) {
  auto all = cluster();
  auto later = all[1];
  later.spans.erase(later.spans.begin(), later.spans.begin() + 4);
  later.is_cut = true;
  all[1].spans.resize(4);
  all.insert(all.begin(), later);
  EXPECT_EQ(clock_records(all, staleness, {}).front().workers.count(1), 1U);
  all[2].is_cut = true;
  EXPECT_EQ(clock_records(all, staleness, {}).front().workers.count(1), 0U);
}

// A program that has computed waits for 20 ms until its push has room.
void push_after_a_wait(std::int64_t begin, std::uint64_t clock, process_spans& to) {
  to.spans.push_back({.begin_ns = start + (begin + 50) * ms,
                      .end_ns = start + (begin + 70) * ms,
                      .kind = span_kind::wait});
  to.spans.push_back(
      span((begin + 70) * ms, (begin + 75) * ms, span_kind::call, traced_call::push, clock));
}

TEST(clock_records, who_waits_for_room_has_computed_in_the_clock_of_the_push) {
  process_spans of{.writer = "worker-mlp-0"};
  for (std::int64_t clock = 1; clock <= 3; ++clock) {
    const auto begin = 100 * clock;
    const auto c = static_cast<std::uint64_t>(clock);
    push_after_a_wait(begin, c, of);
    of.spans.push_back(
        span((begin + 75) * ms, (begin + 80) * ms, span_kind::call, traced_call::pull, c));
    of.spans.push_back({.begin_ns = start + (begin + 80) * ms,
                        .end_ns = start + (begin + 100) * ms,
                        .kind = span_kind::wait});
  }
  const auto records = clock_records({of}, staleness, {});
  ASSERT_EQ(records.size(), 3U);
  const auto& second = records[1].workers.at(0);
  EXPECT_EQ(second.began_ns, start + 200 * ms);
  EXPECT_EQ(second.compute_ns(), 50U * ms);
  EXPECT_EQ(second.wait_ns, 40U * ms);
}

TEST(clock_records, of_a_clock_that_has_not_ended_are_left_out) {
  auto all = cluster();
  all[1].spans.erase(all[1].spans.end() - 3, all[1].spans.end());  // it has called, and waits
  const auto records = clock_records(all, staleness, {});
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(records[2].workers.count(1), 0U);
}

TEST(clock_records, a_pull_at_the_end_is_no_clock) {
  auto all = cluster();
  all[0].spans.push_back(span(700 * ms, 701 * ms, span_kind::call, traced_call::pull, 7));
  all[0].spans.push_back(
      {.begin_ns = start + 701 * ms, .end_ns = start + 705 * ms, .kind = span_kind::wait});
  EXPECT_EQ(clock_records(all, staleness, {}).back().clock, 6U);
}

TEST(clock_records, of_some_clocks) {
  const auto records = clock_records(cluster(), staleness, clock_range{.first = 6, .last = 9});
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].clock, 6U);
  EXPECT_TRUE(clock_records({}, staleness, {}).empty());
}

TEST(clock_records, what_is_taken_after_a_clock_is_no_late_answer) {
  auto all = cluster();
  for (auto& span : all[0].spans)  // shard 1 acknowledges what it has answered before
    if (span.kind == span_kind::answer && span.peer == 1) span.end_ns += 60 * ms;
  EXPECT_EQ(clock_records(all, staleness, {})[1].workers.at(0).shard_late_ns, 2U * ms);
}

TEST(clock_records, who_is_late_for_a_shards_sake_is_not_late) {
  auto all = cluster();
  all[3] = shard(1, 0);
  all[3].spans[2].peer = 1;  // of clock 5 both come at once, the first last
  all[3].spans[3].peer = 0;
  const auto records = clock_records(all, staleness, {});
  EXPECT_EQ(records[1].workers.at(1).late_ns, 0U);
  EXPECT_FALSE(records[1].last_rank());
}

TEST(clock_records, behind_aggregators_what_comes_to_them_counts) {
  auto all = cluster();
  all.push_back(shard(0, 20, "aggregator-mlp-"));
  EXPECT_EQ(clock_records(all, staleness, {})[0].workers.at(1).late_ns, 20U * ms);
}

// In clock 5 worker 0 waits from 532 on, and its push comes to shard 1 at 531. That of worker 1
// comes at 579; the shard has handled it by 580, and stepped by 590. The answer is there at
// 600.
std::vector<process_spans> stepping_cluster() {
  auto all = cluster();
  for (auto& of : {&all[2], &all[3]})
    of->spans.push_back(
        span(580 * ms, 590 * ms, span_kind::step, frame_kind::push, 5, number_of(of->writer)));
  for (auto& of : all[3].spans) of.words = 250;
  return all;
}

TEST(clock_records, say_what_a_worker_waited_for) {
  const auto of = clock_records(stepping_cluster(), staleness, {})[1].workers.at(0);
  ASSERT_TRUE(of.waits);
  EXPECT_EQ(of.wait_ns, 68U * ms);
  EXPECT_EQ(of.waits->gate_rank, 1U);
  EXPECT_EQ(of.waits->gate_ns, 47U * ms);
  EXPECT_EQ(of.waits->shard_ns, 11U * ms);
  EXPECT_EQ(of.waits->network_ns, 10U * ms);
  EXPECT_EQ(of.waits->credit_ns + of.waits->replica_ns, 0U);
  EXPECT_EQ(of.pushed_bytes, 1000U) << "of both shards";
}

TEST(clock_records, who_came_last_waits_for_nobody) {
  const auto of = clock_records(stepping_cluster(), staleness, {})[1].workers.at(1);
  ASSERT_TRUE(of.waits);
  EXPECT_FALSE(of.waits->gate_rank);
  EXPECT_EQ(of.waits->gate_ns, 0U);
  EXPECT_EQ(of.waits->shard_ns, 8U * ms);
  EXPECT_EQ(of.waits->network_ns, 10U * ms);
}

TEST(clock_records, a_shard_that_is_busy_before_another_pushes_is_no_reason) {
  auto all = stepping_cluster();
  // With frames of another job, from 535 on until that of worker 1 comes.
  auto busy = span(535 * ms, 579 * ms, span_kind::frame, frame_kind::push, 9, 7);
  busy.job = 1234;
  all[3].spans.push_back(busy);
  all[1].spans[4].begin_ns = start + 560 * ms;  // worker 1 begins to push
  const auto of = clock_records(all, staleness, {})[1].workers.at(0);
  ASSERT_TRUE(of.waits);
  EXPECT_EQ(of.waits->gate_rank, 1U);
  EXPECT_EQ(of.waits->gate_ns, 28U * ms) << "from 532 to 560";
  EXPECT_EQ(of.waits->shard_ns, 30U * ms);
}

TEST(clock_records, waits_for_replicas_may_overlap) {
  auto all = stepping_cluster();
  for (const auto begin : {100, 150, 120})
    all[3].spans.push_back({.begin_ns = start + begin * ms,
                            .end_ns = start + 700 * ms,
                            .kind = span_kind::replica});
  const auto of = clock_records(all, staleness, {})[1].workers.at(0);
  EXPECT_EQ(of.waits->replica_ns, 0U);
  EXPECT_EQ(of.waits->gate_ns + of.waits->shard_ns + of.waits->network_ns, of.wait_ns);
}

// What was pushed in clock 4 is there, when what was pushed in clock 5 is.
TEST(clock_records, with_staleness_an_older_clock_is_waited_for) {
  const auto of = clock_records(stepping_cluster(), {{"mlp", 1}}, {})[1].workers.at(0);
  ASSERT_TRUE(of.waits);
  EXPECT_EQ(of.waits->gate_ns, 0U);
  EXPECT_EQ(of.waits->shard_ns, 11U * ms) << "it worked meanwhile";
  EXPECT_EQ(of.waits->network_ns, 57U * ms);
  const auto free = clock_records(stepping_cluster(), {}, {})[1].workers.at(0);
  EXPECT_FALSE(free.waits->gate_rank) << "under async nobody is waited for";
}

TEST(clock_records, behind_aggregators_waits_are_not_known) {
  auto all = stepping_cluster();
  all.push_back(shard(0, 20, "aggregator-mlp-"));
  EXPECT_FALSE(clock_records(all, staleness, {})[0].workers.at(1).waits);
}

TEST(clock_records, a_wait_for_room_may_be_one_for_a_replica) {
  process_spans of{.writer = "worker-mlp-0"};
  auto at = shard(0, 0);
  at.spans.clear();
  for (std::int64_t clock = 1; clock <= 2; ++clock) {
    const auto begin = 100 * clock;
    const auto c = static_cast<std::uint64_t>(clock);
    push_after_a_wait(begin, c, of);
    of.spans.back().extra = 3;
    of.spans.push_back({.begin_ns = start + (begin + 75) * ms,
                        .end_ns = start + (begin + 100) * ms,
                        .kind = span_kind::wait});
    at.spans.push_back(
        span((begin + 76) * ms, (begin + 77) * ms, span_kind::frame, frame_kind::push, c, 0));
  }
  at.spans.push_back(
      {.begin_ns = start + 190 * ms, .end_ns = start + 265 * ms, .kind = span_kind::replica});
  const auto second = clock_records({of, at}, staleness, {})[1].workers.at(0);
  ASSERT_TRUE(second.waits);
  EXPECT_EQ(second.waits->replica_ns, 15U * ms);
  EXPECT_EQ(second.waits->credit_ns, 5U * ms);
  EXPECT_EQ(second.waits->shard_ns, 1U * ms);
  EXPECT_EQ(second.waits->network_ns, 24U * ms);
  EXPECT_EQ(second.staleness, 3U);
}

TEST(clock_records, of_one_clock_have_a_row_for_each_worker) {
  const auto text = workers_table(clock_records(stepping_cluster(), staleness, {})[1]);
  EXPECT_THAT(text, HasSubstr("job mlp, clock 5, milliseconds\n"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "     0  100.0   0.0      30.0    2.0   68.0    47.0    1   11.0     10.0   0.0      "
          "0.0  1000 B"));
}

TEST(clock_records, as_people_and_programs_read_them) {
  const auto records = clock_records(cluster(), staleness, {});
  EXPECT_THAT(clocks_table(records),
              HasSubstr("    5  100.0     1  48.0      80.0    2.0   18.0            30.0"));
  const auto text = clocks_json(records);
  const auto second = text.find('\n') + 1;
  const auto line =
      nlohmann::json::parse(text.substr(second, text.find('\n', second) - second));
  EXPECT_EQ(line["version"], clocks_version);
  EXPECT_EQ(line["last"], 1);
  EXPECT_EQ(line["late_seconds"], 0.048);
  EXPECT_EQ(line["workers"][1]["computes_seconds"], 0.08);
  EXPECT_EQ(line["workers"][1]["last_shard"], 1);
  EXPECT_EQ(line["workers"][0]["gate_rank"], 1);
  EXPECT_EQ(line["workers"][0]["gate_seconds"], 0.047);
  EXPECT_EQ(line["workers"][0]["pushed_bytes"], 0);
  EXPECT_EQ(line["workers"][0]["staleness"], 0);
}

}  // namespace
}  // namespace tidegate::launch
