// Steps that wait for the norm of the whole gradient.
#include "policies/shard/gradient_norms.hpp"

#include "tests/policies/shard/fixture.hpp"

namespace tidegate::policies {
namespace {

using measure = shard_effects::measure;
using tell_norm = shard_effects::tell_norm;
using tell_norm_part = shard_effects::tell_norm_part;

// Two workers; a table of two chunks, 0 and 2, in slots 0 and 1.
class clipped_job : public testing::Test {
 protected:
  clipped_job() {
    core_.admin().open_job(job, {.epoch = epoch,
                                 .workers = 2,
                                 .consistency = {consistency_kind::bsp, 0},
                                 .workers_come_back = true,
                                 .members = {},
                                 .clips_by_norm = true});
    const std::vector<chunk_place> places{{.chunk = 0, .shard = 0, .first = 0, .elements = 8},
                                          {.chunk = 2, .shard = 0, .first = 16, .elements = 8}};
    core_.admin().open_table(job, 5, places);
    for (std::uint32_t rank = 0; rank < 2; ++rank) core_.admin().admit_worker(job, rank, 1);
  }

  shard_effects push(std::uint32_t rank, std::uint64_t clock, std::uint32_t chunk = 0) {
    shard_effects out;
    const auto pushed = tag(rank, clock, chunk);
    if (core_.begin_push(pushed, 32).kind == push_admission::verdict::take)
      core_.push(pushed, ++payloads_, out);
    else
      core_.norms().tell(pushed, out);  // as ingress_core does
    return out;
  }
  // A worker tells the sum of a clock.
  shard_effects tell(std::uint64_t clock, double squares) {
    shard_effects out;
    if (core_.norms().arrived(tag(0, clock), squares)) core_.norms().go_on(5, clock, out);
    return out;
  }

  shard_core core_;
  payload_handle payloads_ = 0;
};

TEST_F(clipped_job, measures_a_clock_that_is_complete_and_steps_when_the_sum_is_told) {
  EXPECT_TRUE(push(0, 0).list.empty());
  const auto measured = push(1, 0);
  ASSERT_EQ(all<measure>(measured).size(), 1U);
  EXPECT_EQ(all<measure>(measured)[0].count, 2U);
  EXPECT_EQ(all<measure>(measured)[0].contributors, 2U);
  EXPECT_TRUE(all<apply>(measured).empty());
  EXPECT_TRUE(all<release>(measured).empty()) << "the step needs them";
  EXPECT_TRUE(all<ack>(measured).empty());

  const auto stepped = tell(0, 6.25);
  ASSERT_EQ(all<apply>(stepped).size(), 1U) << "chunk 2 has no pushes";
  EXPECT_EQ(all<apply>(stepped)[0].squares, 6.25);
  EXPECT_EQ(all<release>(stepped).size(), 2U);
  EXPECT_EQ(all<ack>(stepped).size(), 2U);
  EXPECT_TRUE(tell(0, 6.25).list.empty()) << "of another member";
}

TEST_F(clipped_job, answers_pulls_with_the_version_after_the_step) {
  push(0, 0);
  shard_effects out;
  core_.pull(tag(0, 1), false, out);
  EXPECT_TRUE(all<reply>(out).empty());
  EXPECT_TRUE(all<reply>(push(1, 0)).empty());
  const auto stepped = tell(0, 1.0);
  ASSERT_EQ(all<reply>(stepped).size(), 1U);
  EXPECT_EQ(all<reply>(stepped)[0].where.version, 1U);
}

TEST_F(clipped_job, measures_the_next_clock_after_the_step) {
  push(0, 0);
  push(1, 0);
  EXPECT_TRUE(push(0, 1).list.empty());
  EXPECT_TRUE(push(1, 1).list.empty());
  EXPECT_TRUE(tell(1, 4.0).list.empty()) << "nothing waits for it yet";
  const auto stepped = tell(0, 1.0);
  ASSERT_EQ(all<measure>(stepped).size(), 1U);
  EXPECT_EQ(all<measure>(stepped)[0].clock, 1U);
  EXPECT_EQ(all<apply>(tell(1, 4.0)).size(), 1U);
}

TEST_F(clipped_job, tells_a_push_that_comes_again_what_was_measured) {
  push(0, 0);
  EXPECT_TRUE(push(0, 0).list.empty()) << "nothing is measured";
  push(1, 0);
  const auto again = push(1, 0);
  ASSERT_EQ(all<tell_norm_part>(again).size(), 1U);
  EXPECT_EQ(all<tell_norm_part>(again)[0].tag, tag(1, 0));
}

TEST_F(clipped_job, tells_a_push_that_is_applied_with_what_the_step_was_made) {
  push(0, 0);
  push(1, 0);
  tell(0, 6.25);
  const auto again = push(1, 0);
  ASSERT_EQ(all<tell_norm>(again).size(), 1U);
  EXPECT_EQ(all<tell_norm>(again)[0].squares, 6.25);
}

TEST_F(clipped_job, steps_at_once_where_another_chunk_has_heard_the_sum) {
  push(0, 0);
  push(1, 0);
  tell(0, 6.25);
  push(0, 0, 2);
  const auto stepped = push(1, 0, 2);
  EXPECT_TRUE(all<measure>(stepped).empty());
  ASSERT_EQ(all<apply>(stepped).size(), 1U);
  EXPECT_EQ(all<apply>(stepped)[0].squares, 6.25);
}

TEST_F(clipped_job, tells_a_pull_that_comes_again_what_it_waits_for) {
  push(0, 0);
  push(1, 0);
  shard_effects out;
  core_.pull(tag(0, 1), false, out);
  EXPECT_TRUE(out.list.empty());
  auto again = tag(0, 1);
  again.request += 7;
  core_.pull(again, false, out);
  ASSERT_EQ(all<tell_norm_part>(out).size(), 1U);
  EXPECT_EQ(all<tell_norm_part>(out)[0].tag.clock, 0U) << "of the clock that is measured";
  EXPECT_TRUE(all<tell_norm_part>(out)[0].again);
}

// Who pushed has left, and those who joined later ask.
TEST_F(clipped_job, tells_who_asks_all_that_it_knows) {
  const auto ask = [&](std::uint64_t clock) {
    shard_effects out;
    core_.norms().tell_all(tag(1, clock), 5, out);
    return out;
  };
  EXPECT_TRUE(ask(0).list.empty()) << "nobody has pushed";
  push(0, 0);
  push(1, 0);
  const auto waiting = ask(0);
  ASSERT_EQ(all<tell_norm_part>(waiting).size(), 1U);
  EXPECT_EQ(all<tell_norm_part>(waiting)[0].tag.chunk, 0U);
  EXPECT_FALSE(all<tell_norm_part>(waiting)[0].is_empty);
  tell(0, 6.25);
  const auto known = ask(0);
  ASSERT_EQ(all<tell_norm>(known).size(), 1U);
  EXPECT_EQ(all<tell_norm>(known)[0].squares, 6.25);
}

// Rank 0 finishes, and rank 1 joins later than the next clock.
TEST_F(clipped_job, does_not_measure_a_clock_that_nobody_pushes) {
  shard_effects out;
  for (std::uint32_t rank = 0; rank < 2; ++rank)
    core_.membership().change_membership(
        job, {.number = rank + 1, .rank = rank, .clock = 0, .joins = false}, out);
  core_.membership().change_membership(job, {.number = 3, .rank = 1, .clock = 2, .joins = true},
                                       out);
  core_.admin().admit_worker(job, 1, 2);
  core_.membership().change_membership(job, {.number = 4, .rank = 0, .clock = 3, .joins = true},
                                       out);
  core_.admin().admit_worker(job, 0, 2);
  out.clear();
  auto pushed = tag(1, 2);
  pushed.incarnation = 2;
  ASSERT_EQ(core_.begin_push(pushed, 32).kind, push_admission::verdict::take);
  core_.push(pushed, ++payloads_, out);
  const auto measured = all<measure>(out);
  ASSERT_EQ(measured.size(), 1U) << "clocks 0 and 1 have nothing";
  EXPECT_EQ(measured[0].clock, 2U);
  out.clear();
  core_.norms().tell_all(pushed, 5, out);
  auto earlier = pushed;
  earlier.clock = 1;
  core_.norms().tell_all(earlier, 5, out);
  const auto parts = all<tell_norm_part>(out);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_FALSE(parts[0].is_empty);
  EXPECT_TRUE(parts[1].is_empty) << "chunk 0 is past clock 1, and chunk 2 is not";
}

TEST_F(clipped_job, does_not_listen_to_strangers) {
  push(0, 0);
  push(1, 0);
  auto stranger = tag(0, 0);
  stranger.incarnation = 9;
  EXPECT_FALSE(core_.norms().arrived(stranger, 1.0));
  stranger = tag(0, 0);
  stranger.epoch = epoch - 1;
  EXPECT_FALSE(core_.norms().arrived(stranger, 1.0));
}

TEST_F(clipped_job, a_replica_learns_the_sum_with_the_step) {
  shard_core replica;
  replica.admin().open_job(job, {.epoch = 0,
                                 .workers = 2,
                                 .consistency = {consistency_kind::bsp, 0},
                                 .workers_come_back = true,
                                 .members = {},
                                 .replicated = true,
                                 .clips_by_norm = true});
  const std::vector<chunk_place> places{{.chunk = 0, .shard = 0, .first = 0, .elements = 8},
                                        {.chunk = 2, .shard = 0, .first = 16, .elements = 8}};
  replica.admin().open_table(job, 5, places);
  for (std::uint32_t rank = 0; rank < 2; ++rank) replica.admin().admit_worker(job, rank, 1);
  const sharding::followed_step step{.job = job,
                                     .table = 5,
                                     .chunk = 0,
                                     .version = 1,
                                     .rank = all_ranks,
                                     .clock = 0,
                                     .contributors = 2,
                                     .squares = 6.25};
  shard_effects out;
  ASSERT_EQ(replica.follower().begin_step(step, 32).kind, push_admission::verdict::take);
  replica.follower().follow(step, 1, out);
  ASSERT_EQ(all<apply>(out).size(), 1U);
  EXPECT_EQ(all<apply>(out)[0].squares, 6.25);
  // Promoted, it lacks the step of the other chunk: its pushes come again.
  out.clear();
  replica.follower().promote(job, epoch, out);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    ASSERT_EQ(replica.begin_push(tag(rank, 0, 2), 32).kind, push_admission::verdict::take);
    replica.push(tag(rank, 0, 2), 2 + rank, out);
  }
  ASSERT_EQ(all<apply>(out).size(), 1U);
  EXPECT_EQ(all<apply>(out)[0].squares, 6.25);
}

}  // namespace
}  // namespace tidegate::policies
