// Ranks that leave their job for good, or join it, as a shard sees them.
#include "tests/policies/shard/fixture.hpp"

namespace tidegate::policies {
namespace {

constexpr consistency_spec bsp{consistency_kind::bsp, 0};

membership_change leaves(std::uint32_t number, std::uint32_t rank, std::uint64_t clock,
                         bool pushes_here = true) {
  return {.number = number,
          .rank = rank,
          .clock = clock,
          .joins = false,
          .pushes_here = pushes_here};
}

TEST(join_barrier, the_others_are_not_held_up_and_the_mean_is_over_them) {
  auto core = make_core(bsp, 3);
  shard_effects out;
  for (std::uint32_t rank = 0; rank < 3; ++rank) core.push(tag(rank, 0), rank + 1, out);
  ASSERT_EQ(all<apply>(out).size(), 1U);
  EXPECT_EQ(all<apply>(out)[0].contributors, 3U);
  core.push(tag(0, 1), 4, out);
  core.push(tag(2, 1), 5, out);
  core.pull(tag(0, 2), false, out);
  out.clear();

  core.membership().shut_out(job, 1);
  EXPECT_EQ(core.membership().pushed_below(job, 1), 1U);
  core.push(tag(1, 1), 6, out);
  ASSERT_EQ(all<ack>(out).size(), 1U);
  EXPECT_EQ(all<ack>(out)[0].code, reply_code::unknown_worker) << "a late frame of it";
  EXPECT_TRUE(all<apply>(out).empty());
  out.clear();

  core.membership().change_membership(job, leaves(1, 1, 1), out);
  ASSERT_EQ(all<apply>(out).size(), 1U);
  EXPECT_EQ(all<apply>(out)[0].contributors, 2U);
  EXPECT_EQ(all<apply>(out)[0].count, 2U);
  EXPECT_EQ(all<reply>(out).size(), 1U) << "who waited for it";
  out.clear();
  core.membership().change_membership(job, leaves(1, 1, 1), out);
  EXPECT_TRUE(out.list.empty()) << "told twice";
}

TEST(join_barrier, what_a_chunk_lacks_of_the_clocks_before_is_left_out) {
  auto core = make_core(bsp, 2);
  shard_effects out;
  core.push(tag(1, 0, 0), 1, out);  // to one of two chunks
  core.membership().shut_out(job, 1);
  EXPECT_EQ(core.membership().pushed_below(job, 1), 1U) << "of the chunk that has more";
  core.membership().change_membership(job, leaves(1, 1, 1), out);
  out.clear();
  core.push(tag(0, 0, 0), 2, out);
  ASSERT_EQ(all<apply>(out).size(), 1U);
  EXPECT_EQ(all<apply>(out)[0].count, 2U) << "what it had pushed counts";
  EXPECT_EQ(all<apply>(out)[0].contributors, 2U);
  out.clear();
  core.push(tag(0, 0, 2), 3, out);
  ASSERT_EQ(all<apply>(out).size(), 1U);
  EXPECT_EQ(all<apply>(out)[0].count, 1U);
  EXPECT_EQ(all<apply>(out)[0].contributors, 2U) << "the same clock, the same mean";
  out.clear();
  core.push(tag(0, 1, 0), 4, out);
  ASSERT_EQ(all<apply>(out).size(), 1U);
  EXPECT_EQ(all<apply>(out)[0].contributors, 1U);
  EXPECT_EQ(core.pushes_held(), 0U);
}

TEST(join_barrier, a_push_behind_a_gap_is_given_back) {
  auto core = make_core(bsp, 2);
  shard_effects out;
  core.push(tag(1, 1), 9, out);  // clock 0 has not come
  core.membership().shut_out(job, 1);
  EXPECT_EQ(core.membership().pushed_below(job, 1), 0U);
  out.clear();
  core.membership().change_membership(job, leaves(1, 1, 0), out);
  ASSERT_EQ(all<release>(out).size(), 1U);
  EXPECT_EQ(all<release>(out)[0].payload, 9U);
  EXPECT_EQ(core.pushes_held(), 0U);
  for (std::uint64_t clock = 0; clock < 2; ++clock) {
    out.clear();
    core.push(tag(0, clock), 10, out);
    ASSERT_EQ(all<apply>(out).size(), 1U);
    EXPECT_EQ(all<apply>(out)[0].count, 1U);
  }
}

// An aggregator's members have left: its next process has nothing to send.
TEST(join_barrier, so_is_one_of_a_sum_that_says_farewell) {
  auto core = make_core({consistency_kind::async, 0}, 2);
  shard_effects out;
  core.push(tag(1, 1), 9, out);
  out.clear();
  core.finished(tag(1, 0), out);
  ASSERT_EQ(all<release>(out).size(), 1U);
  EXPECT_EQ(all<release>(out)[0].payload, 9U);
  EXPECT_EQ(core.pushes_held(), 0U);
}

TEST(join_barrier, of_a_rank_that_pushes_elsewhere_only_the_mean_is_told) {
  shard_core core;
  const std::vector<std::uint32_t> members{0, 2};  // 0: of a sum of 0 and 1
  core.admin().open_job(job, {.epoch = epoch,
                              .workers = 4,
                              .consistency = bsp,
                              .workers_come_back = false,
                              .members = members});
  core.admin().open_table(
      job, 5, std::vector<chunk_place>{{.chunk = 0, .shard = 0, .first = 0, .elements = 8}});
  for (const auto rank : members)
    ASSERT_EQ(core.admin().admit_worker(job, rank, 1), reply_code::ok);
  shard_effects out;
  core.membership().change_membership(job, leaves(1, 0, 1, false), out);
  EXPECT_TRUE(out.list.empty());
  for (std::uint64_t clock = 0; clock < 2; ++clock)
    for (const auto rank : members) core.push(tag(rank, clock), 1 + rank, out);
  ASSERT_EQ(all<apply>(out).size(), 2U) << "under its name a sum is still waited for";
  EXPECT_EQ(all<apply>(out)[0].contributors, 4U);
  EXPECT_EQ(all<apply>(out)[1].contributors, 3U);
  EXPECT_EQ(all<apply>(out)[1].count, 2U);
}

TEST(join_barrier, a_table_that_is_opened_later_does_not_wait_for_it) {
  auto core = make_core(bsp, 2);
  shard_effects out;
  core.membership().shut_out(job, 1);
  core.membership().change_membership(job, leaves(1, 1, 0), out);
  core.admin().open_table(
      job, 6, std::vector<chunk_place>{{.chunk = 0, .shard = 0, .first = 0, .elements = 8}});
  auto other = tag(0, 0);
  other.table = 6;
  core.push(other, 1, out);
  ASSERT_EQ(all<apply>(out).size(), 1U);
  EXPECT_EQ(all<apply>(out)[0].contributors, 1U);
}

TEST(join_barrier, a_cut_lets_everybody_begin_where_the_others_are) {
  auto core = make_core({consistency_kind::ssp, 3}, 2);
  shard_effects out;
  core.membership().shut_out(job, 1);
  core.membership().change_membership(job, leaves(1, 1, 0), out);
  const std::vector<std::uint32_t> tables{5};
  ASSERT_EQ(core.snapshots().cut(job, 2, tables, out),
            sharding::snapshot_request::nothing_gone_by);
  for (std::uint64_t clock = 0; clock < 2; ++clock)
    for (const auto chunk : {0U, 2U}) core.push(tag(0, clock, chunk), 1, out);
  const auto taken = all<shard_effects::snapshot>(out);
  ASSERT_EQ(taken.size(), 2U);
  const auto& ranks = core.snapshots().cut_of(taken[0].slot).ranks;
  EXPECT_EQ(ranks[0].next, 2U);
  EXPECT_EQ(ranks[1].next, 2U);
  EXPECT_FALSE(ranks[1].finished) << "whoever goes on from there begins with all";
}

TEST(join_barrier, the_last_cut_has_who_left_where_the_others_ended) {
  auto core = make_core({consistency_kind::ssp, 3}, 2);
  shard_effects out;
  core.push(tag(1, 0), 1, out);
  core.membership().shut_out(job, 1);
  core.membership().change_membership(job, leaves(1, 1, 0), out);
  for (std::uint64_t clock = 0; clock < 4; ++clock)
    for (const auto chunk : {0U, 2U}) core.push(tag(0, clock, chunk), 1, out);
  core.admin().has_finished(job, 0, out);
  out.clear();
  const std::vector<std::uint32_t> tables{5};
  ASSERT_EQ(core.snapshots().cut(job, clock_vector::infinity, tables, out),
            sharding::snapshot_request::nothing_gone_by);
  const auto taken = all<shard_effects::snapshot>(out);
  ASSERT_EQ(taken.size(), 2U);
  for (const auto& snapshot : taken)
    for (const auto& rank : core.snapshots().cut_of(snapshot.slot).ranks)
      EXPECT_EQ(rank.next, 4U);
}

// An aggregator says farewell when all of its members have left.
TEST(join_barrier, a_cut_under_bsp_has_who_said_farewell_where_the_others_are) {
  auto core = make_core(bsp, 2);
  shard_effects out;
  for (const auto chunk : {0U, 2U}) core.push(tag(1, 0, chunk), 1, out);
  for (const auto chunk : {0U, 2U}) core.push(tag(0, 0, chunk), 1, out);
  core.admin().has_finished(job, 1, out);
  out.clear();
  const std::vector<std::uint32_t> tables{5};
  ASSERT_EQ(core.snapshots().cut(job, 3, tables, out),
            sharding::snapshot_request::nothing_gone_by);
  for (std::uint64_t clock = 1; clock < 3; ++clock)
    for (const auto chunk : {0U, 2U}) core.push(tag(0, clock, chunk), 1, out);
  const auto taken = all<shard_effects::snapshot>(out);
  ASSERT_EQ(taken.size(), 2U);
  const auto ranks = core.snapshots().cut_of(taken[0].slot).ranks;
  EXPECT_EQ(ranks[1].next, 3U);

  auto next = make_core(bsp, 2);
  for (std::uint32_t slot = 0; slot < 2; ++slot) next.snapshots().restore(slot, 3, ranks);
  out.clear();
  next.push(tag(0, 3), 1, out);
  next.push(tag(1, 3), 2, out);
  ASSERT_EQ(all<apply>(out).size(), 1U) << "it pushes from there like the others";
  EXPECT_EQ(all<apply>(out)[0].count, 2U);
}

TEST(join_barrier, a_replica_makes_the_means_that_it_is_told) {
  auto core = make_core(bsp, 2);
  shard_effects out;
  shard_effects none;
  core.replication().lead(job, true, none);
  core.membership().shut_out(job, 1);
  core.membership().change_membership(job, leaves(1, 1, 0), out);
  core.push(tag(0, 0), 1, out);
  const auto steps = all<shard_effects::replicate>(out);
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].contributors, 1U);

  shard_core replica;
  replica.admin().open_job(job, {.epoch = 0,
                                 .workers = 2,
                                 .consistency = bsp,
                                 .workers_come_back = false,
                                 .members = {}});
  replica.admin().open_table(
      job, 5, std::vector<chunk_place>{{.chunk = 0, .shard = 0, .first = 0, .elements = 8}});
  shard_core::followed_step step{job, 5, 0, 1, all_ranks, 0, 1};
  step.contributors = 3;
  EXPECT_EQ(replica.follower().begin_step(step, 32).kind, push_admission::verdict::refuse);
  step.contributors = 0;
  EXPECT_EQ(replica.follower().begin_step(step, 32).kind, push_admission::verdict::refuse);
  step.contributors = 1;
  ASSERT_EQ(replica.follower().begin_step(step, 32).kind, push_admission::verdict::take);
  out.clear();
  replica.follower().follow(step, 7, out);
  ASSERT_EQ(all<apply>(out).size(), 1U);
  EXPECT_EQ(all<apply>(out)[0].contributors, 1U) << "it has not heard yet who has left";
  replica.membership().change_membership(job, leaves(1, 1, 0), out);
  replica.follower().promote(job, epoch, out);
  ASSERT_EQ(replica.admin().admit_worker(job, 0, 1), reply_code::ok);
  out.clear();
  replica.push(tag(0, 1), 8, out);
  ASSERT_EQ(all<apply>(out).size(), 1U);
  EXPECT_EQ(all<apply>(out)[0].contributors, 1U);
}

// A job of two ranks that begins with one; one chunk.
shard_core make_room(std::uint32_t its_epoch = epoch, const consistency_spec& policy = bsp) {
  shard_core core;
  const std::vector<std::uint32_t> members{0};
  core.admin().open_job(job, {.epoch = its_epoch,
                              .workers = 2,
                              .consistency = policy,
                              .workers_come_back = false,
                              .members = members,
                              .replicated = false,
                              .contributors = 1});
  core.admin().open_table(
      job, 5, std::vector<chunk_place>{{.chunk = 0, .shard = 0, .first = 0, .elements = 8}});
  EXPECT_EQ(core.admin().admit_worker(job, 0, 1), reply_code::ok);
  EXPECT_EQ(core.admin().admit_worker(job, 1, 1), reply_code::unknown_worker)
      << "not of the job";
  return core;
}

// A checkpoint has its pushes, and the job goes on from there without it.
TEST(join_barrier, who_had_joined_before_all_went_back_joins_behind_its_pushes) {
  const consistency_spec ssp{consistency_kind::ssp, 5};
  auto core = make_room(epoch, ssp);
  const std::vector<rank_progress> ranks{{4, false}, {9, true}};
  core.snapshots().restore(0, 13, ranks);
  EXPECT_EQ(core.snapshots().progress(0).ranks[1].next, 9U);
  shard_effects out;
  EXPECT_EQ(core.membership().hold(job, 6, 1, out), 9U) << "it has pushed that already";
  EXPECT_EQ(core.membership().hold(job, 11, 1, out), 0U);

  auto replica = make_room(0, ssp);
  const shard_core::followed_step seed{job, 5, 0, 13, all_ranks, 0, 1};
  sharding::seed_state state;
  state.now = core.snapshots().progress(0);
  ASSERT_EQ(replica.follower().begin_seed(seed).kind, push_admission::verdict::take);
  replica.follower().follow_seed(seed, state, out);
  EXPECT_EQ(replica.snapshots().progress(0).ranks[1].next, 9U);
}

TEST(join_barrier, who_joins_is_waited_for_from_its_clock_on) {
  auto core = make_room();
  shard_effects out;
  core.push(tag(0, 0), 1, out);
  ASSERT_EQ(all<apply>(out).size(), 1U);
  EXPECT_EQ(all<apply>(out)[0].contributors, 1U);
  EXPECT_EQ(core.membership().hold(job, 0, 1, out), 1U) << "the chunk is beyond";
  EXPECT_EQ(core.membership().hold(job, 2, 1, out), 0U);
  out.clear();
  core.push(tag(0, 1), 2, out);
  EXPECT_EQ(all<apply>(out).size(), 1U) << "a clock before";
  out.clear();
  core.push(tag(0, 2), 3, out);
  EXPECT_TRUE(all<apply>(out).empty()) << "held";
  core.membership().change_membership(
      job, {.number = 1, .rank = 1, .clock = 2, .joins = true, .pushes_here = true}, out);
  ASSERT_EQ(core.admin().admit_worker(job, 1, 1), reply_code::ok);
  EXPECT_EQ(core.admin().first_missing(job, 1, std::vector<std::uint32_t>{5}), 2U);
  out.clear();
  core.push(tag(1, 2), 4, out);
  ASSERT_EQ(all<apply>(out).size(), 1U);
  EXPECT_EQ(all<apply>(out)[0].contributors, 2U);
  EXPECT_EQ(all<apply>(out)[0].count, 2U);
}

// As it left before it joined again, and the word was late.
TEST(join_barrier, a_farewell_of_an_earlier_stay_is_none_of_this_one) {
  auto replica = make_room(0);
  shard_effects out;
  EXPECT_EQ(replica.registry().first_clock(job, 1), 0U);
  replica.membership().change_membership(
      job, {.number = 1, .rank = 1, .clock = 2, .joins = true, .pushes_here = true}, out);
  EXPECT_EQ(replica.registry().first_clock(job, 1), 2U);
  replica.follower().follow_farewell(job, 1, 0);
  EXPECT_TRUE(replica.registry().finished_ranks(job).empty());
  replica.follower().follow_farewell(job, 1, 2);
  EXPECT_EQ(replica.registry().finished_ranks(job), std::vector<std::uint32_t>{1});
}

TEST(join_barrier, a_hold_that_is_let_go_of_holds_nobody_up) {
  auto core = make_room();
  shard_effects out;
  ASSERT_EQ(core.membership().hold(job, 0, 1, out), 0U);
  core.push(tag(0, 0), 1, out);
  core.pull(tag(0, 1), false, out);
  EXPECT_TRUE(all<apply>(out).empty());
  EXPECT_EQ(core.membership().hold(job, clock_vector::infinity, 0, out), 0U);
  EXPECT_EQ(all<apply>(out).size(), 1U);
  EXPECT_EQ(all<reply>(out).size(), 1U) << "who waited";
}

TEST(join_barrier, where_all_have_joined_later_nobody_waits_for_the_clocks_before) {
  auto core = make_room();
  shard_effects out;
  ASSERT_EQ(core.membership().hold(job, 5, 1, out), 0U);
  core.membership().change_membership(
      job, {.number = 1, .rank = 1, .clock = 5, .joins = true, .pushes_here = true}, out);
  ASSERT_EQ(core.admin().admit_worker(job, 1, 1), reply_code::ok);
  core.pull(tag(1, 5), false, out);
  EXPECT_TRUE(all<reply>(out).empty());
  core.membership().shut_out(job, 0);
  core.membership().change_membership(job, leaves(2, 0, 0), out);
  ASSERT_EQ(all<reply>(out).size(), 1U);
  EXPECT_EQ(all<reply>(out)[0].where.version, 5U);
}

// Two clocks close at once: in the first the one that has joined has no part.
TEST(join_barrier, what_one_that_joined_has_pushed_is_kept_when_clocks_before_close) {
  auto core = make_room();
  shard_effects out;
  core.replication().lead(job, true, out);
  core.membership().change_membership(
      job, {.number = 1, .rank = 1, .clock = 1, .joins = true, .pushes_here = true}, out);
  ASSERT_EQ(core.admin().admit_worker(job, 1, 1), reply_code::ok);
  core.push(tag(1, 1), 7, out);
  ASSERT_TRUE(all<apply>(out).empty());
  core.membership().shut_out(job, 0);
  core.membership().change_membership(job, leaves(2, 0, 0), out);
  ASSERT_EQ(all<apply>(out).size(), 1U);
  EXPECT_EQ(all<apply>(out)[0].count, 1U);
  EXPECT_TRUE(all<release>(out).empty()) << "it is on its way to the replica";
  EXPECT_EQ(core.pushes_held(), 1U);
}

TEST(join_barrier, a_replica_knows_who_joined_when_it_is_promoted) {
  auto core = make_room(0);
  shard_effects out;
  core.membership().change_membership(
      job, {.number = 1, .rank = 1, .clock = 1, .joins = true, .pushes_here = true}, out);
  core.follower().follow({.job = job,
                          .table = 5,
                          .chunk = 0,
                          .version = 1,
                          .rank = all_ranks,
                          .clock = 0,
                          .contributors = 1},
                         no_payload, out);
  core.follower().promote(job, epoch, out);
  for (std::uint32_t rank = 0; rank < 2; ++rank)
    ASSERT_EQ(core.admin().admit_worker(job, rank, 2), reply_code::ok);
  auto first = tag(0, 1);
  auto second = tag(1, 1);
  first.incarnation = second.incarnation = 2;
  out.clear();
  core.push(first, 1, out);
  EXPECT_TRUE(all<apply>(out).empty());
  core.push(second, 2, out);
  ASSERT_EQ(all<apply>(out).size(), 1U);
  EXPECT_EQ(all<apply>(out)[0].contributors, 2U);
}

}  // namespace
}  // namespace tidegate::policies
