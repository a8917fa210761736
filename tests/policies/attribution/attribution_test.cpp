#include "policies/attribution/attribution.hpp"

#include <gmock/gmock.h>

namespace tidegate::policies {
namespace {

using cause = held_up_by::cause;
using party = held_up_by::party;

// A second of four workers and two shards in which each clock takes 50 ms: of these 45 are
// computed and 5 waited, and nobody is late.
struct second {
  job_rates rates;
  second() {
    rates.seconds = 1;
    rates.clocks_per_second = 20;
    for (std::uint32_t rank = 0; rank < 4; ++rank)
      rates.workers.push_back({.rank = rank,
                               .seconds = 1,
                               .clocks = 20,
                               .clocks_per_second = 20,
                               .computes = 0.9,
                               .waits = 0.1,
                               .comes_last = 0.25,
                               .late_seconds = 0.001,
                               .late = 0.005});
    for (std::uint32_t shard = 0; shard < 2; ++shard)
      rates.shards.push_back({.shard = shard,
                              .seconds = 1,
                              .answers_last = 0.5,
                              .late_seconds = 0.0005,
                              .busy = 0.05});
  }
  worker_rates& worker(std::uint32_t rank) { return rates.workers[rank]; }
  shard_rates& shard(std::uint32_t number) { return rates.shards[number]; }
  // The others wait half of their time for it, and compute in the other half.
  second& late(std::uint32_t rank) {
    for (auto& each : rates.workers) {
      each.computes = 0.5;
      each.waits = 0.5;
      each.comes_last = each.rank == rank ? 1 : 0;
      each.late_seconds = each.rank == rank ? 0.02 : 0;
      each.late = each.rank == rank ? 0.4 : 0;
    }
    worker(rank).waits = 0.1;
    worker(rank).computes = 0.9;
    return *this;
  }
  second& late_shard(std::uint32_t number) {
    for (auto& each : rates.workers) {
      each.computes = 0.5;
      each.waits = 0.5;
      each.late = 0.005;
    }
    for (auto& each : rates.shards) {
      each.answers_last = each.shard == number ? 1 : 0;
      each.late_seconds = each.shard == number ? 0.02 : 0;
    }
    return *this;
  }
  std::vector<held_up_by> held_up() const {
    const auto period = period_of(20, rates);
    return policies::held_up({&period, 1});
  }
  held_up_by only() const {
    const auto all = held_up();
    EXPECT_EQ(all.size(), 1U);
    return all.empty() ? held_up_by() : all[0];
  }
};

TEST(attribution, names_nobody_where_all_are_alike) {
  EXPECT_TRUE(second().held_up().empty());
  EXPECT_TRUE(held_up({}).empty());
}

TEST(attribution, a_worker_that_computes_longer) {
  const auto found = second().late(2).only();
  EXPECT_EQ(found.kind, party::worker);
  EXPECT_EQ(found.number, 2U);
  EXPECT_EQ(found.because, cause::computes);
  EXPECT_NEAR(found.own_seconds, 0.045, 1e-9);
  EXPECT_NEAR(found.others_seconds, 0.025, 1e-9);
  EXPECT_NEAR(found.late_seconds, 0.02, 1e-9);
  EXPECT_NEAR(found.faster, 1 / 0.6, 1e-9);
  EXPECT_DOUBLE_EQ(found.of_the_time, 1);
}

TEST(attribution, a_worker_that_was_stopped_seems_to_compute) {
  auto stopped = second().late(2);
  stopped.worker(2).pressure.stopped = 0.4;
  const auto found = stopped.only();
  EXPECT_EQ(found.because, cause::stopped);
  EXPECT_NEAR(found.own_seconds, 0.02, 1e-9);
}

TEST(attribution, a_worker_without_a_processor) {
  auto starved = second().late(0);
  for (auto& each : starved.rates.workers) each.pressure.starved = 0.05;
  EXPECT_EQ(starved.only().because, cause::computes) << "all are starved alike";
  starved.worker(0).pressure.starved = 0.45;
  EXPECT_EQ(starved.only().because, cause::starved);
  EXPECT_NEAR(starved.only().others_seconds, 0.0025, 1e-9);
}

TEST(attribution, a_worker_whose_memory_is_on_a_disk) {
  auto swapped = second().late(1);
  for (auto& each : swapped.rates.workers) each.pressure.disk_faults = 100;
  EXPECT_EQ(swapped.only().because, cause::computes) << "few, and all alike";
  swapped.worker(1).pressure.disk_faults = 20'000;
  EXPECT_EQ(swapped.only().because, cause::disk_faults);
  EXPECT_NEAR(swapped.only().own_seconds, 1000, 1e-6);
}

TEST(attribution, a_worker_whose_language_collects_garbage) {
  auto slow = second().late(1);
  for (auto& each : slow.rates.workers) each.garbage = 0.1;
  EXPECT_EQ(slow.only().because, cause::computes) << "all do alike";
  slow.worker(1).garbage = 0.4;
  EXPECT_EQ(slow.only().because, cause::garbage);
  EXPECT_NEAR(slow.only().own_seconds, 0.02, 1e-9);
  EXPECT_NEAR(slow.only().others_seconds, 0.005, 1e-9);
}

TEST(attribution, a_worker_whose_host_is_short_of_memory) {
  auto slow = second().late(1);
  for (auto& each : slow.rates.workers) each.pressure.memory = 0.4;
  EXPECT_EQ(slow.only().because, cause::computes) << "all are on that host";
  for (auto& each : slow.rates.workers) each.pressure.memory = each.rank == 1 ? 0.4 : 0;
  EXPECT_EQ(slow.only().because, cause::memory);
}

TEST(attribution, a_shard_whose_replica_is_slow) {
  auto slow = second().late_shard(1);
  for (auto& each : slow.rates.shards) each.replica = 0.3;
  EXPECT_EQ(slow.only().because, cause::arrives) << "both wait alike";
  slow.shard(1).replica = 0.8;
  EXPECT_EQ(slow.only().because, cause::replica);
  EXPECT_NEAR(slow.only().own_seconds, 0.04, 1e-9);
  slow.shard(1).pressure.stopped = 0.4;
  EXPECT_EQ(slow.only().because, cause::stopped) << "it waits for long as it is stopped itself";
}

TEST(attribution, a_worker_is_not_late_for_its_link_beside_a_slow_replica) {
  auto slow = second().late_shard(1);
  slow.shard(1).replica = 0.8;
  slow.worker(2).comes_last = 1;
  slow.worker(2).late = 0.5;
  EXPECT_EQ(slow.only().kind, party::shard);
}

TEST(attribution, a_shard_alone_whose_replica_is_slow) {
  auto slow = second().late_shard(0);
  slow.rates.shards.resize(1);
  slow.rates.shards[0].answers_last = slow.rates.shards[0].late_seconds = 0;
  slow.rates.shards[0].replica = 0.4;
  EXPECT_TRUE(slow.held_up().empty());
  slow.rates.shards[0].replica = 0.6;
  EXPECT_EQ(slow.only().because, cause::replica);
  EXPECT_FALSE(slow.only().has_others);
  slow.rates.shards[0].busy = 0.3;
  EXPECT_TRUE(slow.held_up().empty()) << "it stepped meanwhile";
  slow.rates.shards[0].busy = 0.55;
  EXPECT_EQ(slow.only().because, cause::busy);
  slow.rates.shards[0].busy = 0.1;
  slow.rates.shards[0].replica = 0.95;
  EXPECT_EQ(slow.only().because, cause::replica) << "the longer of the two";
}

TEST(attribution, a_worker_whose_calls_take_longer) {
  auto slow = second().late(3);
  slow.worker(3).computes = 0.5;
  slow.worker(3).calls = 0.4;
  EXPECT_EQ(slow.only().because, cause::calls);
}

TEST(attribution, a_worker_whose_pushes_arrive_late) {
  auto slow = second().late(3);
  slow.worker(3).computes = 0.5;
  slow.worker(3).waits = 0.5;
  EXPECT_EQ(slow.only().because, cause::arrives);
}

TEST(attribution, nobody_is_held_up_who_does_not_wait) {
  auto behind = second().late(1);
  for (auto& each : behind.rates.workers) {
    each.computes = 1;
    each.waits = 0;
  }
  EXPECT_TRUE(behind.held_up().empty()) << "as under async";
}

TEST(attribution, a_shard_whose_answers_come_late) {
  const auto found = second().late_shard(1).only();
  EXPECT_EQ(found.kind, party::shard);
  EXPECT_EQ(found.number, 1U);
  EXPECT_EQ(found.because, cause::arrives);
  EXPECT_NEAR(found.comes_last, 1, 1e-9);
  EXPECT_NEAR(found.late_seconds, 0.02, 1e-9);
}

TEST(attribution, a_shard_that_is_busier_than_the_others) {
  auto busy = second().late_shard(0);
  busy.shard(0).busy = 0.45;
  EXPECT_EQ(busy.only().because, cause::busy);
  EXPECT_NEAR(busy.only().own_seconds, 0.0225, 1e-9);
}

TEST(attribution, a_shard_that_was_stopped) {
  auto stopped = second().late_shard(0);
  stopped.shard(0).pressure.stopped = 0.4;
  EXPECT_EQ(stopped.only().because, cause::stopped);
}

TEST(attribution, a_shard_alone_is_known_by_what_it_says) {
  auto alone = second().late_shard(0);
  alone.rates.shards.resize(1);
  alone.shard(0).answers_last = alone.shard(0).late_seconds = 0;
  EXPECT_TRUE(alone.held_up().empty());
  alone.shard(0).pressure.stopped = 0.4;
  EXPECT_EQ(alone.only().because, cause::stopped);
  alone.shard(0).pressure = {};
  alone.shard(0).busy = 0.45;
  EXPECT_TRUE(alone.held_up().empty()) << "it rests for most of the time";
  alone.shard(0).busy = 0.8;
  EXPECT_EQ(alone.only().because, cause::busy);
}

TEST(attribution, shards_that_are_starved_alike_are_not_named) {
  auto alike = second().late_shard(0);
  for (auto& each : alike.rates.shards) {
    each.answers_last = 0.5;
    each.late_seconds = 0.0005;
    each.pressure.starved = 0.2;
  }
  EXPECT_TRUE(alike.held_up().empty());
  for (auto& each : alike.rates.shards) each.answers_last = each.late_seconds = 0;
  EXPECT_TRUE(alike.held_up().empty()) << "behind aggregators, likewise";
  alike.shard(1).pressure.starved = 0.45;
  EXPECT_EQ(alike.only().number, 1U);
}

TEST(attribution, a_shard_that_answers_nobody_of_the_job_is_not_named) {
  auto other = second().late_shard(0);
  for (auto& each : other.rates.shards) each.late_seconds = 0.0005;
  other.shard(1).answers_last = 0;
  other.shard(1).pressure.stopped = 0.4;
  EXPECT_TRUE(other.held_up().empty());
}

TEST(attribution, a_worker_that_joined_late_hides_no_shard) {
  std::vector<job_period> periods;
  for (int i = 0; i < 10; ++i) {
    periods.push_back(period_of(20, second().late_shard(1).rates));
    if (i < 9) periods.back().workers.erase(3);
  }
  const auto all = held_up(periods);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].number, 1U);
  EXPECT_GT(all[0].faster, 1.5);
}

TEST(attribution, a_worker_that_is_waited_for_hides_no_shard) {
  auto both = second().late(2);
  both.worker(2).waits = 0.02;
  both.shard(1).answers_last = 1;
  both.shard(1).late_seconds = 0.02;
  EXPECT_EQ(both.only().kind, party::worker)
      << "whoever comes last waits for nothing but shards, and it does not wait";
}

TEST(attribution, a_shard_that_waits_for_a_worker_is_not_late_itself) {
  auto waits = second().late_shard(1);
  waits.shard(0).waits = 0.1;
  waits.shard(1).waits = 0.5;
  EXPECT_EQ(waits.only().number, 1U) << "no worker is late everywhere";
  waits.worker(0).late = 0.4;
  waits.worker(0).waits = 0.01;
  for (const auto& each : waits.held_up())
    EXPECT_EQ(each.kind, party::worker) << "a worker's push came there later than elsewhere";
}

TEST(attribution, nobody_is_named_for_a_link_beside_another_that_explains_it) {
  auto both = second().late(2);
  for (auto& each : both.rates.workers) {
    each.computes = 0.5;
    each.waits = 0.5;
  }
  EXPECT_EQ(both.only().kind, party::worker);
  both.shard(1).answers_last = 1;
  both.shard(1).late_seconds = 0.01;
  EXPECT_EQ(both.only().kind, party::shard) << "its answers may be what the worker waits for";
  both.shard(1).waits = 0.4;
  EXPECT_EQ(both.only().kind, party::worker) << "which was later there than at the other";
  both.shard(1).waits = 0;
  both.shard(1).busy = 0.3;
  EXPECT_EQ(both.held_up().size(), 2U) << "the shard says why, and the worker is worse";
  both.shard(1).late_seconds = 0.024;
  EXPECT_EQ(both.only().kind, party::shard);
}

TEST(attribution, the_worst_comes_first_and_once_is_told_from_always) {
  std::vector<job_period> periods;
  for (int i = 0; i < 6; ++i) periods.push_back(period_of(20, second().late(0).rates));
  for (int i = 0; i < 3; ++i) periods.push_back(period_of(20, second().late(1).rates));
  periods.push_back(period_of(20, second().late(2).rates));
  const auto all = held_up(periods);
  ASSERT_EQ(all.size(), 2U) << "worker 2 was waited for in less than a twentieth of the time";
  EXPECT_EQ(all[0].number, 0U);
  EXPECT_NEAR(all[0].of_the_time, 0.6, 1e-9);
  EXPECT_EQ(all[1].number, 1U);
  EXPECT_NEAR(all[1].of_the_time, 0.3, 1e-9);
}

}  // namespace
}  // namespace tidegate::policies
