#include "runtime/device/emulated/schedule.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace tidegate::runtime::devices {
namespace {

work piece(std::size_t number) {
  work item;
  item.kind = work_kind::clear;
  item.bytes = number;
  return item;
}

work mark(work_kind kind, event end) {
  work item;
  item.kind = kind;
  item.end = end;
  return item;
}

struct step {
  std::size_t number = 0;
  half side = half::first;
  friend bool operator==(const step&, const step&) = default;
};

// Everything that can happen, in its order.
std::vector<step> run(schedule& plan) {
  std::vector<step> steps;
  while (plan.next_due()) {
    const auto part = plan.take_next();
    if (part.item->kind == work_kind::clear) steps.push_back({part.item->bytes, part.side});
  }
  return steps;
}

std::size_t place(const std::vector<step>& steps, const step& wanted) {
  return static_cast<std::size_t>(std::find(steps.begin(), steps.end(), wanted) -
                                  steps.begin());
}

TEST(schedule, a_stream_keeps_its_order) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    schedule plan(seed, {});
    const auto on = plan.add_stream();
    for (std::size_t i = 0; i < 40; ++i) plan.submit(on, piece(i), i);
    const auto steps = run(plan);
    ASSERT_EQ(steps.size(), 80u);
    for (std::size_t i = 0; i < 40; ++i) {
      EXPECT_EQ(steps[2 * i], (step{i, half::first}));
      EXPECT_EQ(steps[2 * i + 1], (step{i, half::second}));
    }
    EXPECT_TRUE(plan.is_idle());
  }
}

TEST(schedule, streams_meet_in_the_middle_of_each_others_work) {
  int first = 0, second = 0, between = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    schedule plan(seed, {});
    const auto a = plan.add_stream(), b = plan.add_stream();
    plan.submit(a, piece(0), 0);
    plan.submit(b, piece(1), 0);
    const auto steps = run(plan);
    const auto end_a = place(steps, {0, half::second}), end_b = place(steps, {1, half::second});
    const auto begin_a = place(steps, {0, half::first}),
               begin_b = place(steps, {1, half::first});
    if (end_a < begin_b) ++first;
    if (end_b < begin_a) ++second;
    if (begin_b < end_a && begin_a < end_b) ++between;
  }
  EXPECT_GT(first, 10);
  EXPECT_GT(second, 10);
  EXPECT_GT(between, 10);
}

TEST(schedule, a_wait_holds_its_stream_until_the_event_has_ended) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    schedule plan(seed, {});
    const auto a = plan.add_stream(), b = plan.add_stream();
    const auto end = plan.add_event();
    plan.submit(a, piece(0), 0);
    plan.submit(a, mark(work_kind::record, end), 0);
    plan.submit(a, piece(1), 0);
    plan.submit(b, mark(work_kind::wait, end), 0);
    plan.submit(b, piece(2), 0);
    const auto steps = run(plan);
    EXPECT_LT(place(steps, {0, half::second}), place(steps, {2, half::first}));
  }
}

TEST(schedule, a_wait_means_the_last_recording_before_it) {
  int overtaken = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    schedule plan(seed, {});
    const auto a = plan.add_stream(), b = plan.add_stream();
    const auto end = plan.add_event();
    plan.submit(b, mark(work_kind::wait, end), 0);  // for nothing
    plan.submit(a, mark(work_kind::record, end), 0);
    while (!plan.is_idle()) plan.take_next();
    plan.submit(b, mark(work_kind::wait, end), 0);  // for what has ended
    plan.submit(b, piece(2), 0);
    plan.submit(a, piece(1), 0);
    plan.submit(a, mark(work_kind::record, end), 0);
    const auto steps = run(plan);
    if (place(steps, {2, half::second}) < place(steps, {1, half::first})) ++overtaken;
  }
  EXPECT_GT(overtaken, 10);
}

TEST(schedule, the_host_hears_of_an_event_late) {
  int late = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    schedule plan(seed, {});
    const auto on = plan.add_stream();
    const auto end = plan.add_event();
    EXPECT_TRUE(plan.has_ended(end, 0)) << "never recorded";
    plan.submit(on, piece(0), 0);
    plan.submit(on, mark(work_kind::record, end), 0);
    EXPECT_FALSE(plan.has_ended(end, 1'000'000'000)) << "however much later";
    std::uint64_t now = 0;
    while (const auto due = plan.next_due()) {
      now = *due;
      plan.take_next();
    }
    if (!plan.has_ended(end, now)) ++late;
    EXPECT_TRUE(plan.has_ended(end, now + lateness().news_ns));
  }
  EXPECT_GT(late, 50);
}

}  // namespace
}  // namespace tidegate::runtime::devices
