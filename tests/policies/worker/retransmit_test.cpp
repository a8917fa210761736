// A worker that comes back: what a shard core keeps for it.
#include <gtest/gtest.h>

#include "policies/model/clock_vector.hpp"
#include "tests/policies/shard/fixture.hpp"

namespace tidegate::policies {
namespace {

constexpr auto infinity = clock_vector::infinity;
const std::vector<std::uint32_t> opened{5};

shard_core two_workers(bool come_back) {
  shard_core core;
  core.admin().open_job(job, {.epoch = epoch,
                              .workers = 2,
                              .consistency = {consistency_kind::bsp, 0},
                              .workers_come_back = come_back,
                              .members = {}});
  const std::vector<chunk_place> places{{.chunk = 0, .shard = 0, .first = 0, .elements = 8},
                                        {.chunk = 2, .shard = 0, .first = 16, .elements = 8}};
  core.admin().open_table(job, 5, places);
  for (std::uint32_t rank = 0; rank < 2; ++rank) core.admin().admit_worker(job, rank, 1);
  return core;
}

frame_tag second_incarnation(frame_tag of) {
  of.incarnation = 2;
  return of;
}

// Chunk 0 is a clock ahead of chunk 2, as rank 1 died between its pushes.
void die_half_way(shard_core& core, shard_effects& out) {
  core.push(tag(0, 0, 0), 1, out);
  core.push(tag(0, 0, 2), 2, out);
  core.push(tag(1, 0, 0), 3, out);
  out.clear();
}

TEST(worker_again, it_goes_on_at_the_first_clock_that_some_chunk_lacks) {
  auto core = two_workers(true);
  shard_effects out;
  EXPECT_EQ(core.admin().first_missing(job, 1, opened), 0U);
  die_half_way(core, out);
  EXPECT_EQ(core.admin().first_missing(job, 1, opened), 0U) << "chunk 2 lacks clock 0";
  core.push(tag(1, 0, 2), 4, out);
  EXPECT_EQ(core.admin().first_missing(job, 1, opened), 1U);
  EXPECT_EQ(core.admin().first_missing(job, 0, opened), 1U);
  core.push(tag(1, 1, 0), 5, out);
  EXPECT_EQ(core.admin().first_missing(job, 1, opened), 1U)
      << "held, and not in the parameters";
}

TEST(worker_again, without_tables_there_is_nothing_that_lacks) {
  shard_core core;
  core.admin().open_job(job, {.epoch = epoch,
                              .workers = 2,
                              .consistency = {consistency_kind::bsp, 0},
                              .workers_come_back = true,
                              .members = {}});
  EXPECT_EQ(core.admin().first_missing(job, 0, opened), infinity);
  EXPECT_EQ(core.admin().first_missing(99, 0, opened), infinity);
}

TEST(worker_again, it_finds_the_version_of_the_clock_that_it_repeats) {
  auto core = two_workers(true);
  shard_effects out;
  die_half_way(core, out);
  core.admin().admit_worker(job, 1, 2);
  core.pull(second_incarnation(tag(1, 0, 0)), false, out);
  core.pull(second_incarnation(tag(1, 0, 2)), false, out);
  const auto replies = all<reply>(out);
  ASSERT_EQ(replies.size(), 2U);
  for (const auto& one : replies) {
    EXPECT_EQ(one.code, reply_code::ok);
    EXPECT_EQ(one.where.version, 0U);
  }
  out.clear();
  // Its gradient comes again: chunk 0 has it, chunk 2 makes its step.
  core.push(second_incarnation(tag(1, 0, 0)), 7, out);
  core.push(second_incarnation(tag(1, 0, 2)), 8, out);
  EXPECT_EQ(all<apply>(out).size(), 1U);
  EXPECT_EQ(all<release>(out).front().payload, 7U);
}

TEST(worker_again, nobody_writes_what_is_kept) {
  auto core = two_workers(true);
  shard_effects out;
  std::uint32_t before = 0;
  for (std::uint64_t clock = 0; clock < 20; ++clock) {
    for (std::uint32_t rank = 0; rank < 2; ++rank) core.push(tag(rank, clock), 1, out);
    const auto steps = all<apply>(out);
    ASSERT_EQ(steps.size(), 1U);
    EXPECT_NE(steps[0].from, steps[0].to);
    if (clock > 0) {
      EXPECT_EQ(steps[0].from, before);
    }
    EXPECT_LT(steps[0].to, 2U) << "two planes do when nobody reads";
    before = steps[0].to;
    out.clear();
  }
}

TEST(worker_again, a_job_whose_workers_do_not_come_back_keeps_nothing) {
  auto core = two_workers(false);
  shard_effects out;
  die_half_way(core, out);
  core.admin().admit_worker(job, 1, 2);
  core.pull(second_incarnation(tag(1, 0, 0)), false, out);
  EXPECT_EQ(all<reply>(out).at(0).code, reply_code::too_late);
}

TEST(worker_again, its_credits_count_what_is_held_of_the_one_before) {
  auto core = two_workers(true);
  shard_effects out;
  for (std::uint64_t clock = 0; clock < runtime::limits::clocks_in_flight_max; ++clock)
    core.push(tag(1, clock), 1, out);
  EXPECT_TRUE(all<ack>(out).empty()) << "rank 0 has pushed nothing";
  core.admin().admit_worker(job, 1, 2);
  const auto first = core.admin().first_missing(job, 1, opened);
  EXPECT_EQ(first, 0U);
  out.clear();
  for (std::uint64_t clock = first; clock < runtime::limits::clocks_in_flight_max; ++clock)
    core.push(second_incarnation(tag(1, clock)), 2, out);
  EXPECT_TRUE(all<ack>(out).empty()) << "neither refused nor acknowledged before its time";
}

}  // namespace
}  // namespace tidegate::policies
