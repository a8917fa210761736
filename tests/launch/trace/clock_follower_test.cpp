// Of a run that is asked again and again each clock is told once, when all have ended it.
#include "launch/trace/clock_follower.hpp"

#include <gmock/gmock.h>

#include "launch/trace/write_trace.hpp"
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
  clock_follower clocks;
  EXPECT_THAT(take(clocks, {worker(0, 3, 7), worker(1, 3, 5)}), ElementsAre(3, 4, 5));
  EXPECT_THAT(take(clocks, {worker(0, 3, 7), worker(1, 3, 5)}), ElementsAre());
  EXPECT_THAT(take(clocks, {worker(0, 5, 8), worker(1, 4, 7)}), ElementsAre(6, 7));
  EXPECT_THAT(take(clocks, {worker(0, 5, 8), worker(1, 4, 7)}, true), ElementsAre(8));
  EXPECT_EQ(clocks.lost(), 0U);
}

TEST(clock_follower, counts_what_rings_have_lost) {
  clock_follower clocks;
  EXPECT_THAT(take(clocks, {worker(0, 1, 4)}), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(take(clocks, {worker(0, 11, 12)}), ElementsAre(11, 12));
  EXPECT_EQ(clocks.lost(), 6U);
}

TEST(clock_follower, does_not_wait_for_a_worker_that_is_gone) {
  clock_follower clocks;
  EXPECT_THAT(take(clocks, {worker(0, 1, 3), worker(1, 1, 60)}), ElementsAre(1, 2, 3));
  auto last = take(clocks, {worker(0, 1, 3), worker(1, 1, 104)});
  EXPECT_EQ(last.back(), 104U);
}

TEST(clock_follower, asks_again_before_a_ring_is_full) {
  clock_follower clocks;
  take(clocks, {worker(0, 1, 3)});
  EXPECT_EQ(clocks.rest_ns(), 10'000 * ms);
  auto busy = worker(0, 1, 40);
  const auto once = busy.spans;
  while (busy.spans.size() < spans_kept) {
    const auto more = std::min(once.size(), spans_kept - busy.spans.size());
    busy.spans.insert(busy.spans.end(), once.begin(), once.begin() + static_cast<long>(more));
  }
  take(clocks, {busy});
  EXPECT_NEAR(static_cast<double>(clocks.rest_ns()), 0.5 * 40 * 100 * ms, 100 * ms);
  take(clocks, {});
  EXPECT_EQ(clocks.rest_ns(), 10'000 * ms);
}

}  // namespace
}  // namespace tidegate::launch
