// Of a run that is asked again and again each clock is told once, when all have ended it.
#include "launch/trace/clock_follower.hpp"

#include <gmock/gmock.h>

#include "runtime/base/frame_header.hpp"
#include "tests/launch/trace/noted_span.hpp"

namespace tidegate::launch {
namespace {

using runtime::span_kind;
using runtime::traced_call;
using testing::ElementsAre;

// Clocks of 100 ms each.
process_spans worker(std::uint32_t rank, std::uint64_t first, std::uint64_t last) {
  process_spans of{.writer = "worker-mlp-" + std::to_string(rank)};
  for (auto clock = first; clock <= last; ++clock) {
    const auto begin = 100 * static_cast<std::int64_t>(clock);
    of.spans.push_back(span((begin + 20) * ms, (begin + 30) * ms, span_kind::call,
                            traced_call::exchange, clock));
    of.spans.push_back({.begin_ns = start + (begin + 30) * ms,
                        .end_ns = start + (begin + 100) * ms,
                        .kind = span_kind::wait});
  }
  return of;
}

std::vector<std::uint64_t> take(clock_follower& from, const std::vector<process_spans>& all,
                                bool is_last = false) {
  std::vector<std::uint64_t> clocks;
  for (const auto& record : from.take({.processes = all}, is_last))
    clocks.push_back(record.clock);
  return clocks;
}

TEST(clock_follower, tells_each_clock_once_when_all_have_ended_it) {
  clock_follower clocks("");
  EXPECT_THAT(take(clocks, {worker(0, 3, 7), worker(1, 3, 5)}), ElementsAre(3, 4, 5));
  EXPECT_THAT(take(clocks, {worker(0, 3, 7), worker(1, 3, 5)}), ElementsAre());
  EXPECT_THAT(take(clocks, {worker(0, 5, 8), worker(1, 4, 7)}), ElementsAre(6, 7));
  EXPECT_THAT(take(clocks, {worker(0, 5, 8), worker(1, 4, 7)}, true), ElementsAre(8));
  EXPECT_EQ(clocks.lost(), 0U);
}

TEST(clock_follower, counts_what_rings_have_lost) {
  clock_follower clocks("");
  EXPECT_THAT(take(clocks, {worker(0, 1, 4)}), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(take(clocks, {worker(0, 11, 12)}), ElementsAre(11, 12));
  EXPECT_EQ(clocks.lost(), 6U);
}

TEST(clock_follower, does_not_wait_for_a_worker_that_is_gone) {
  clock_follower clocks("");
  EXPECT_THAT(take(clocks, {worker(0, 1, 3), worker(1, 1, 60)}), ElementsAre(1, 2, 3));
  auto last = take(clocks, {worker(0, 1, 3), worker(1, 1, 104)});
  EXPECT_EQ(last.back(), 104U);
}

TEST(clock_follower, waits_for_a_worker_that_has_ended_none_yet) {
  clock_follower clocks("");
  auto begins = worker(1, 1, 1);
  begins.spans.resize(1);
  EXPECT_THAT(take(clocks, {worker(0, 1, 3), begins}), ElementsAre());
  EXPECT_THAT(take(clocks, {worker(0, 1, 3), worker(1, 1, 2)}), ElementsAre(1, 2));
}

TEST(clock_follower, tells_of_one_job_alone) {
  auto other = worker(0, 1, 3);
  other.writer = "worker-other-0";
  for (auto& span : other.spans) span.job = span.job == 0 ? 0 : job + 1;
  clock_follower clocks("other");
  const auto found = clocks.take({.processes = {worker(0, 1, 9), other}}, false);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].job, "other");
}

TEST(clock_follower, leaves_out_clocks_that_cannot_be) {
  clock_follower clocks("");
  EXPECT_THAT(take(clocks, {worker(0, 1, 2)}), ElementsAre(1, 2));
  auto odd = worker(0, 3, 5);
  for (auto& span : odd.spans)
    if (span.clock == 4) span.clock = std::uint64_t{1} << 63U;
  EXPECT_THAT(take(clocks, {odd}, true), ElementsAre(3, 5));
}

TEST(clock_follower, asks_again_before_what_it_has_seen_is_gone) {
  clock_follower clocks("");
  take(clocks, {worker(0, 1, 1)});
  EXPECT_EQ(clocks.rest_ns(), 200 * ms) << "not all the time";
  take(clocks, {worker(0, 1, 40), worker(1, 1, 80)});
  EXPECT_EQ(clocks.rest_ns(), (40 * 100 - 20) / 2 * ms);
  take(clocks, {worker(0, 1, 400)});
  EXPECT_EQ(clocks.rest_ns(), 10'000 * ms);
}

}  // namespace
}  // namespace tidegate::launch
