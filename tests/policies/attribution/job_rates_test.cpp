#include "policies/attribution/job_rates.hpp"

#include <gtest/gtest.h>

namespace tidegate::policies {
namespace {

const std::vector<shard_times> no_shards;
constexpr std::int64_t second = 1'000'000'000;

job_status at_clock(std::uint64_t clock) {
  policies::job_status job;
  job.clock_slowest = clock;
  const auto ns = clock * 10'000'000;  // a clock takes 10 ms
  for (std::uint32_t rank = 0; rank < 2; ++rank)
    job.members.push_back({.rank = rank,
                           .incarnation = 1,
                           .joined = true,
                           .clock = clock,
                           .samples = clock * 32,
                           .times = {.elapsed_ns = ns, .call_ns = ns / 10, .wait_ns = ns / 5},
                           .arrivals = {.clocks = clock,
                                        .last = rank == 1 ? clock / 2 : 0,
                                        .late_ns = rank == 1 ? clock / 2 * 1'000'000 : 0},
                           .least_late_ns = rank == 1 ? clock / 2 * 1'000'000 : 0});
  return job;
}

TEST(rate_window, of_the_last_seconds) {
  rate_window window;
  EXPECT_EQ(window.rates().seconds, 0);
  for (int i = 0; i <= 100; ++i)  // 20 s, five polls in a second; half as fast at first
    window.add(i * second / 5,
               at_clock(static_cast<std::uint64_t>(i <= 50 ? i * 10 : 500 + (i - 50) * 20)),
               no_shards, {});
  const auto rates = window.rates();
  EXPECT_GE(rates.seconds, 4.9);
  EXPECT_LE(rates.seconds, 6);
  EXPECT_NEAR(rates.clocks_per_second, 100, 1e-6);
  EXPECT_NEAR(rates.samples_per_second, 2 * 3200, 1e-6);
  ASSERT_EQ(rates.workers.size(), 2U);
  const auto& last = rates.workers[1];
  EXPECT_NEAR(last.computes, 0.7, 1e-3);
  EXPECT_NEAR(last.calls, 0.1, 1e-3);
  EXPECT_NEAR(last.waits, 0.2, 1e-3);
  EXPECT_NEAR(last.comes_last, 0.5, 1e-3);
  EXPECT_NEAR(last.late_seconds, 0.001, 1e-9);
  EXPECT_NEAR(last.late, 0.05 * rates.seconds, 1e-9)
      << "half of 100 clocks a second, by a millisecond";
  EXPECT_NEAR(last.clocks, 100 * rates.seconds, 1e-9);
  EXPECT_EQ(rates.workers[0].comes_last, 0);
}

TEST(rate_window, a_worker_that_came_back_counts_from_then_on) {
  rate_window window;
  window.add(0, at_clock(100), no_shards, {});
  window.add(second, at_clock(200), no_shards, {});
  auto back = at_clock(210);
  back.members[1] = {.rank = 1, .incarnation = 2, .joined = true, .clock = 205};
  window.add(2 * second, back, no_shards, {});
  EXPECT_EQ(window.rates().workers[1].clocks_per_second, 0);
  back.members[1].times.elapsed_ns = 1;
  window.add(3 * second, back, no_shards, {});
  back.members[1].clock = 255;
  window.add(4 * second, back, no_shards, {});
  EXPECT_NEAR(window.rates().workers[1].clocks_per_second, 50, 1e-6);
}

TEST(rate_window, begins_when_all_workers_have_reported) {
  rate_window window;
  auto silent = at_clock(0);
  silent.members[1].times = {};
  window.add(0, silent, no_shards, {});
  window.add(second, at_clock(500), no_shards, {});
  EXPECT_EQ(window.rates().seconds, 0) << "no 500 clocks in a second";
  window.add(2 * second, at_clock(600), no_shards, {});
  EXPECT_NEAR(window.rates().clocks_per_second, 100, 1e-6);
}

TEST(rate_window, what_is_counted_anew_is_no_difference) {
  rate_window window;
  window.add(0, at_clock(100), no_shards, {});
  auto anew = at_clock(200);
  anew.members[1].arrivals = {.clocks = 150, .last = 1, .late_ns = 10};
  window.add(second, anew, no_shards, {});
  EXPECT_EQ(window.rates().workers[1].comes_last, 0);
  EXPECT_EQ(window.rates().workers[1].late_seconds, 0);
}

TEST(rate_window, a_job_that_goes_back_begins_anew) {
  rate_window window;
  window.add(0, at_clock(1000), no_shards, {});
  window.add(second, at_clock(1100), no_shards, {});
  window.add(2 * second, at_clock(500), no_shards, {});
  EXPECT_EQ(window.rates().seconds, 0);
  window.add(3 * second, at_clock(550), no_shards, {});
  EXPECT_NEAR(window.rates().clocks_per_second, 50, 1e-6);
}

job_status with_answers(std::uint64_t clocks) {
  auto job = at_clock(clocks);
  job.answers = {{.clocks = 2 * clocks},
                 {.clocks = 2 * clocks, .last = clocks, .late_ns = clocks * 3'000'000}};
  return job;
}

std::vector<shard_times> shards_at(std::uint64_t seconds) {
  const auto ns = seconds * second;
  return {{.elapsed_ns = ns, .busy_ns = ns / 10},
          {.elapsed_ns = ns,
           .busy_ns = ns / 2,
           .replica_ns = ns / 8,
           .bytes_in = 1000 * seconds,
           .bytes_out = 500 * seconds,
           .resident_bytes = 7 + seconds,
           .pushes_held = 2,
           .pressure = {.stopped_ns = ns / 4, .starved_ns = ns / 5, .disk_faults = seconds}}};
}

TEST(rate_window, shards_as_workers_and_they_themselves_see_them) {
  rate_window window;
  for (std::uint64_t i = 1; i <= 4; ++i)
    window.add(static_cast<std::int64_t>(i) * second, with_answers(100 * i), shards_at(i), {});
  const auto rates = window.rates();
  ASSERT_EQ(rates.shards.size(), 2U);
  EXPECT_EQ(rates.shards[0].answers_last, 0);
  EXPECT_NEAR(rates.shards[0].busy, 0.1, 1e-9);
  const auto& slow = rates.shards[1];
  EXPECT_EQ(slow.shard, 1U);
  EXPECT_NEAR(slow.answers_last, 0.5, 1e-9);
  EXPECT_NEAR(slow.late_seconds, 0.003, 1e-9);
  EXPECT_NEAR(slow.busy, 0.5, 1e-9);
  EXPECT_NEAR(slow.replica, 0.125, 1e-9);
  EXPECT_NEAR(slow.bytes_in_per_second, 1000, 1e-6);
  EXPECT_NEAR(slow.bytes_out_per_second, 500, 1e-6);
  EXPECT_EQ(slow.resident_bytes, 11U) << "as of now";
  EXPECT_EQ(slow.pushes_held, 2U);
  EXPECT_NEAR(slow.pressure.stopped, 0.25, 1e-9);
  EXPECT_NEAR(slow.pressure.starved, 0.2, 1e-9);
  EXPECT_NEAR(slow.pressure.disk_faults, 1, 1e-9);
}

TEST(rate_window, a_checkpoint_that_has_become_durable) {
  rate_window window;
  auto job = with_answers(100);
  job.checkpointing = {.count = 1, .late_ns = 5, .clock = 90};
  window.add(second, job, shards_at(1), {});
  window.add(2 * second, job, shards_at(2), {});
  EXPECT_FALSE(window.rates().checkpoint) << "the first was before";
  job.checkpointing = {.count = 3, .late_ns = 12, .clock = 150, .part_ns = 7};
  window.add(3 * second, job, shards_at(3), {});
  const auto found = window.rates().checkpoint;
  ASSERT_TRUE(found);
  EXPECT_EQ(found->clock, 150U);
  EXPECT_EQ(found->late_ns, 7U);
  EXPECT_EQ(found->part_ns, 7U);
}

TEST(rate_window, a_shard_that_came_anew_counts_from_then_on) {
  rate_window window;
  window.add(second, with_answers(100), shards_at(100), {});
  window.add(2 * second, with_answers(200), shards_at(1), {});
  EXPECT_EQ(window.rates().shards[1].busy, 0);
  EXPECT_NEAR(window.rates().shards[1].answers_last, 0.5, 1e-9) << "workers saw it all along";
  window.add(3 * second, with_answers(300), shards_at(2), {});
  EXPECT_NEAR(window.rates().shards[1].busy, 0.5, 1e-9);
}

std::vector<replica_status> replicas_at(std::uint64_t seconds) {
  return {
      {.shard = 1, .name = {process_role::replica, "", 1}, .times = shards_at(seconds).back()}};
}

TEST(rate_window, replicas_as_they_themselves_see_them) {
  rate_window window;
  window.add(second, with_answers(100), shards_at(1), {});
  window.add(2 * second, with_answers(200), shards_at(2), replicas_at(2));
  auto found = window.rates().replicas;
  ASSERT_EQ(found.size(), 1U) << "it has just told something";
  EXPECT_EQ(found[0].busy, 0);
  EXPECT_EQ(found[0].resident_bytes, 9U);
  window.add(3 * second, with_answers(300), shards_at(3), replicas_at(3));
  found = window.rates().replicas;
  EXPECT_EQ(found[0].process, "replica-1");
  EXPECT_EQ(found[0].shard, 1U);
  EXPECT_NEAR(found[0].busy, 0.5, 1e-9);
  EXPECT_NEAR(found[0].bytes_in_per_second, 1000, 1e-6);
  EXPECT_NEAR(found[0].pressure.stopped, 0.25, 1e-9);
}

TEST(rate_window, pressure_on_workers) {
  rate_window window;
  auto job = at_clock(100);
  window.add(0, job, no_shards, {});
  job = at_clock(200);
  job.members[0].times.credit_ns = 100'000'000;
  job.members[0].times.garbage_ns = 200'000'000;
  job.members[0].times.pressure = {
      .stopped_ns = 500'000'000, .disk_faults = 7, .memory_ns = 50'000'000};
  window.add(second, job, no_shards, {});
  const auto rates = window.rates();
  EXPECT_NEAR(rates.workers[0].credits, 0.1, 1e-9);
  EXPECT_NEAR(rates.workers[0].garbage, 0.2, 1e-9);
  EXPECT_NEAR(rates.workers[0].pressure.memory, 0.05, 1e-9);
  EXPECT_NEAR(rates.workers[0].pressure.stopped, 0.5, 1e-9);
  EXPECT_NEAR(rates.workers[0].pressure.disk_faults, 7, 1e-9);
  EXPECT_EQ(rates.workers[1].pressure.stopped, 0);
}

}  // namespace
}  // namespace tidegate::policies
