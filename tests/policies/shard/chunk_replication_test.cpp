// A primary retains until its replica has it; a replica that is promoted goes on where it is.
#include <gtest/gtest.h>

#include "policies/shard/core.hpp"

namespace tidegate::policies {
namespace {

constexpr std::uint64_t job = 7;
constexpr std::uint32_t table = 5;
constexpr std::uint32_t epoch = 4;
constexpr std::uint64_t bytes = 8 * sizeof(float);
constexpr std::uint32_t slots[] = {0};

template <class Effect>
std::vector<Effect> all(const shard_effects& of) {
  std::vector<Effect> found;
  for (const auto& effect : of.list)
    if (const auto* is = std::get_if<Effect>(&effect)) found.push_back(*is);
  return found;
}

using effects = shard_effects;

class chunk_replication_test : public testing::Test {
 protected:
  void open(consistency_kind kind) {
    const std::vector<chunk_place> places{{.chunk = 0, .shard = 0, .first = 0, .elements = 8}};
    for (auto* core : {&primary, &replica}) {
      core->admin().open_job(job, {.epoch = core == &primary ? epoch : 0,
                                   .workers = 2,
                                   .consistency = {kind, 2},
                                   .workers_come_back = true,
                                   .members = {}});
      effects none;
      if (core == &primary) core->replication().lead(job, true, none);
      core->admin().open_table(job, table, places);
      for (std::uint32_t rank = 0; rank < 2; ++rank) core->admin().admit_worker(job, rank, 1);
    }
  }
  static frame_tag tag(std::uint32_t rank, std::uint64_t clock, std::uint32_t in = epoch) {
    return {.job = job,
            .epoch = in,
            .incarnation = 1,
            .rank = rank,
            .table = table,
            .chunk = 0,
            .clock = clock,
            .request = 0};
  }
  effects push(shard_core& core, std::uint32_t rank, std::uint64_t clock,
               payload_handle payload, std::uint32_t in = epoch) {
    effects out;
    core.push(tag(rank, clock, in), payload, out);
    return out;
  }
  // The replica takes that step; what follows from it.
  effects follow(const effects::replicate& replicate) {
    const shard_core::followed_step step{.job = job,
                                         .table = table,
                                         .chunk = 0,
                                         .version = replicate.version,
                                         .rank = replicate.rank,
                                         .clock = replicate.clock,
                                         .contributors = replicate.contributors,
                                         .rate = replicate.rate};
    effects out;
    if (!replicate.skips) {
      EXPECT_EQ(replica.follower().begin_step(step, bytes).kind, push_admission::verdict::take);
    }
    replica.follower().follow(step, replicate.skips ? no_payload : 99, out);
    return out;
  }

  shard_core primary, replica;
};

TEST_F(chunk_replication_test, a_push_is_acknowledged_when_the_replica_has_made_the_step) {
  open(consistency_kind::bsp);
  push(primary, 0, 0, 1);
  const auto second = push(primary, 1, 0, 2);
  EXPECT_TRUE(all<effects::acknowledge>(second).empty());
  ASSERT_EQ(all<effects::apply>(second).size(), 1U);
  EXPECT_TRUE(all<effects::apply>(second)[0].keeps_sum);
  const auto steps = all<effects::replicate>(second);
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].version, 1U);
  EXPECT_EQ(steps[0].rank, all_ranks);
  const auto followed = all<effects::followed>(follow(steps[0]));
  ASSERT_EQ(followed.size(), 1U);
  EXPECT_EQ(followed[0].version, 1U);
  effects out;
  primary.replication().replicated(slots, 1, out);
  EXPECT_EQ(all<effects::acknowledge>(out).size(), 2U);
  EXPECT_EQ(all<effects::release>(out).size(), 2U);
  effects again;
  primary.replication().replicated(slots, 1, again);
  EXPECT_TRUE(again.list.empty()) << "told twice it counts once";
}

TEST_F(chunk_replication_test, the_replica_steps_at_the_rate_of_the_primary) {
  open(consistency_kind::ssp);
  auto name = tag(1, 0);
  name.rate = 0.5F;
  effects out;
  primary.push(name, 1, out);
  ASSERT_EQ(all<effects::apply>(out).size(), 1U);
  EXPECT_EQ(all<effects::apply>(out)[0].rate, 0.5F);
  const auto steps = all<effects::replicate>(out);
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].rate, 0.5F);
  const auto applied = all<effects::apply>(follow(steps[0]));
  ASSERT_EQ(applied.size(), 1U);
  EXPECT_EQ(applied[0].rate, 0.5F);
}

TEST_F(chunk_replication_test, a_copy_of_a_retained_push_is_dropped_without_a_word) {
  open(consistency_kind::ssp);
  EXPECT_TRUE(all<effects::acknowledge>(push(primary, 0, 0, 1)).empty());
  EXPECT_EQ(primary.begin_push(tag(0, 0), bytes).kind, push_admission::verdict::drop);
  const auto copy = push(primary, 0, 0, 2);
  EXPECT_TRUE(all<effects::acknowledge>(copy).empty());
  EXPECT_TRUE(all<effects::apply>(copy).empty());
  EXPECT_EQ(all<effects::release>(copy).size(), 1U);
}

TEST_F(chunk_replication_test, steps_of_a_chunk_go_one_after_another) {
  open(consistency_kind::ssp);
  EXPECT_EQ(all<effects::replicate>(push(primary, 0, 0, 1)).size(), 1U);
  EXPECT_TRUE(all<effects::replicate>(push(primary, 1, 0, 2)).empty());
  effects out;
  primary.replication().replicated(slots, 1, out);
  const auto next = all<effects::replicate>(out);
  ASSERT_EQ(next.size(), 1U);
  EXPECT_EQ(next[0].rank, 1U);
  EXPECT_EQ(next[0].payload, 2U) << "a single gradient is sent from where it is";
}

TEST_F(chunk_replication_test, a_worker_goes_on_at_the_first_clock_that_the_replica_lacks) {
  open(consistency_kind::ssp);
  push(primary, 0, 0, 1);
  const std::vector<std::uint32_t> tables{table};
  EXPECT_EQ(primary.admin().first_missing(job, 0, tables), 0U);
  effects out;
  primary.replication().replicated(slots, 1, out);
  EXPECT_EQ(primary.admin().first_missing(job, 0, tables), 1U);
}

TEST_F(chunk_replication_test, promoted_it_takes_what_it_has_for_known_and_the_rest_anew) {
  open(consistency_kind::ssp);
  follow(all<effects::replicate>(push(primary, 0, 0, 1))[0]);
  push(primary, 0, 1, 2);  // dies with the primary
  EXPECT_EQ(replica.registry().check_worker(tag(0, 0)), reply_code::stale_epoch)
      << "not promoted yet";
  shard_effects none;
  replica.follower().promote(job, epoch + 1, none);
  const auto known = push(replica, 0, 0, 3, epoch + 1);
  EXPECT_EQ(all<effects::acknowledge>(known).size(), 1U);
  EXPECT_TRUE(all<effects::apply>(known).empty());
  const auto fresh = push(replica, 0, 1, 4, epoch + 1);
  EXPECT_EQ(all<effects::apply>(fresh).size(), 1U);
  EXPECT_EQ(all<effects::acknowledge>(fresh).size(), 1U) << "it is alone";
}

// A coordinator says of an aggregator whose members have gone that it has finished.
TEST_F(chunk_replication_test, a_push_is_known_whose_rank_finished_before_its_step_came) {
  open(consistency_kind::bsp);
  push(primary, 0, 0, 1);
  const auto steps = all<effects::replicate>(push(primary, 1, 0, 2));
  ASSERT_EQ(steps.size(), 1U);
  replica.follower().follow_farewell(job, 1, 0);
  follow(steps[0]);
  shard_effects none;
  replica.follower().promote(job, epoch + 1, none);
  const auto known = all<effects::acknowledge>(push(replica, 1, 0, 3, epoch + 1));
  ASSERT_EQ(known.size(), 1U);
  EXPECT_EQ(known[0].code, reply_code::ok);
}

TEST_F(chunk_replication_test, what_waits_is_answered_when_the_replica_is_gone) {
  open(consistency_kind::ssp);
  push(primary, 0, 0, 1);
  push(primary, 1, 0, 2);
  effects farewell;
  primary.finished(tag(1, 1), farewell);
  EXPECT_TRUE(all<effects::acknowledge>(farewell).empty());
  EXPECT_EQ(all<effects::replicate_farewell>(farewell).size(), 1U);
  effects out;
  primary.replication().lead_nobody(job, out);
  EXPECT_EQ(all<effects::acknowledge>(out).size(), 3U);
  EXPECT_EQ(primary.pushes_held(), 0U);
}

TEST_F(chunk_replication_test, a_chunk_is_handed_over_while_its_pushes_wait) {
  open(consistency_kind::ssp);
  effects out;
  primary.replication().lead_nobody(job, out);
  push(primary, 0, 0, 1);
  primary.replication().lead(job, false, out);
  ASSERT_TRUE(primary.replication().next_to_seed(job).has_value());
  out.clear();
  primary.replication().seed(0, out);
  EXPECT_EQ(all<effects::seed>(out).size(), 1U);
  EXPECT_FALSE(primary.replication().next_to_seed(job).has_value());
  EXPECT_FALSE(primary.replication().all_seeded(job));
  const auto waits = push(primary, 1, 0, 2);
  EXPECT_TRUE(all<effects::replicate>(waits).empty());
  EXPECT_TRUE(all<effects::acknowledge>(waits).empty());

  const shard_core::followed_step name{job, table, 0, 1, 0, 0};
  ASSERT_EQ(replica.follower().begin_seed(name).kind, push_admission::verdict::take);
  EXPECT_EQ(replica.follower().begin_seed(name).kind, push_admission::verdict::drop)
      << "it is on its way";
  effects taken;
  replica.follower().follow_seed(name, primary.replication().seed_of(0), taken);
  EXPECT_EQ(all<effects::followed>(taken)[0].version, 1U);
  EXPECT_EQ(replica.follower().begin_seed(name).code, reply_code::ok) << "known";

  out.clear();
  primary.replication().seeded(0, 1, out);
  EXPECT_TRUE(primary.replication().all_seeded(job));
  const auto next = all<effects::replicate>(out);
  ASSERT_EQ(next.size(), 1U);
  EXPECT_EQ(next[0].version, 2U);
  EXPECT_EQ(all<effects::followed>(follow(next[0]))[0].version, 2U);
}

// The replica leads another one: 'replica' is the second of three.
TEST_F(chunk_replication_test,
       every_chunk_is_handed_over_once_but_for_those_of_a_forgotten_table) {
  open(consistency_kind::bsp);
  const std::vector<chunk_place> two{{.chunk = 0, .shard = 0, .first = 0, .elements = 8},
                                     {.chunk = 1, .shard = 0, .first = 8, .elements = 8}};
  primary.admin().open_table(job, 6, two);
  primary.admin().open_table(job, 8, two);
  effects out;
  primary.replication().lead(job, false, out);
  std::vector<std::uint32_t> handed;
  const auto hand_over = [&] {
    const auto slot = primary.replication().next_to_seed(job);
    if (!slot) return false;
    handed.push_back(*slot);
    primary.replication().seed(*slot, out);
    return true;
  };
  ASSERT_TRUE(hand_over() && hand_over());
  primary.admin().forget_table(6);  // its first chunk is on its way
  while (hand_over()) {
  }
  EXPECT_EQ(handed, (std::vector<std::uint32_t>{0, 1, 3, 4}));
  EXPECT_FALSE(primary.replication().all_seeded(job));
  for (const std::uint32_t slot : {0, 3, 4}) primary.replication().seeded(slot, 0, out);
  EXPECT_TRUE(primary.replication().all_seeded(job));

  primary.replication().lead(job, false, out);
  EXPECT_EQ(primary.replication().next_to_seed(job), 0U) << "to another replica all again";
  EXPECT_FALSE(primary.replication().all_seeded(job));
}

class shard_chain_test : public chunk_replication_test {
 protected:
  void chain(consistency_kind kind) {
    open(kind);
    effects none;
    replica.replication().lead(job, true, none);
  }
};

TEST_F(shard_chain_test, one_between_hands_a_step_on_and_has_followed_when_the_last_has) {
  chain(consistency_kind::ssp);
  const auto step = all<effects::replicate>(push(primary, 0, 0, 1))[0];
  const auto shard_effects = follow(step);
  EXPECT_TRUE(all<effects::followed>(shard_effects).empty());
  ASSERT_EQ(all<effects::apply>(shard_effects).size(), 1U);
  EXPECT_TRUE(all<effects::apply>(shard_effects)[0].keeps_sum) << "where it came from may go";
  EXPECT_EQ(all<effects::release>(shard_effects).size(), 1U);
  const auto next = all<effects::replicate>(shard_effects);
  ASSERT_EQ(next.size(), 1U);
  EXPECT_EQ(next[0].version, step.version);
  EXPECT_EQ(next[0].rank, step.rank);
  EXPECT_EQ(next[0].clock, step.clock);
  EXPECT_EQ(next[0].payload, no_payload);
  EXPECT_FALSE(next[0].skips);
  const shard_core::followed_step again{job, table, 0, 1, 0, 0};
  EXPECT_EQ(replica.follower().begin_step(again, bytes).kind, push_admission::verdict::drop)
      << "it is told when the last has made it";
  effects out;
  replica.replication().replicated(slots, 1, out);
  ASSERT_EQ(all<effects::followed>(out).size(), 1U);
  EXPECT_EQ(all<effects::followed>(out)[0].version, 1U);
  const auto known = replica.follower().begin_step(again, bytes);
  EXPECT_EQ(known.kind, push_admission::verdict::refuse);
  EXPECT_EQ(known.code, reply_code::ok);
}

TEST_F(shard_chain_test, when_the_last_is_gone_the_one_before_it_has_followed) {
  chain(consistency_kind::ssp);
  follow(all<effects::replicate>(push(primary, 0, 0, 1))[0]);
  effects out;
  replica.replication().lead_nobody(job, out);
  ASSERT_EQ(all<effects::followed>(out).size(), 1U);
  EXPECT_EQ(all<effects::followed>(out)[0].version, 1U);
}

TEST_F(shard_chain_test, what_is_on_its_way_is_handed_to_the_one_behind_the_dead) {
  open(consistency_kind::ssp);
  push(primary, 0, 0, 1);
  push(primary, 1, 0, 2);
  effects out;
  primary.replication().lead(job, true, out);
  const auto steps = all<effects::replicate>(out);
  ASSERT_EQ(steps.size(), 1U) << "one step after the other";
  EXPECT_EQ(steps[0].version, 1U);
  EXPECT_EQ(steps[0].payload, 1U);
  EXPECT_TRUE(all<effects::acknowledge>(out).empty());
}

// The primary died; who took its place has made a step that its own replica has not.
TEST_F(shard_chain_test, a_copy_of_what_the_last_lacks_waits_without_its_gradient) {
  for (const bool announced : {true, false}) {
    primary = {};
    replica = {};
    chain(consistency_kind::ssp);
    follow(all<effects::replicate>(push(primary, 0, 0, 1))[0]);
    effects out;
    replica.follower().promote(job, epoch + 1, out);
    EXPECT_EQ(replica.admin().first_missing(job, 0, std::vector<std::uint32_t>{table}), 0U);
    const auto again = tag(0, 0, epoch + 1);
    if (announced) {
      EXPECT_EQ(replica.begin_push(again, bytes).kind, push_admission::verdict::drop);
    } else {
      const auto copy = push(replica, 0, 0, 7, epoch + 1);
      EXPECT_TRUE(all<effects::acknowledge>(copy).empty());
      EXPECT_TRUE(all<effects::apply>(copy).empty()) << "it is in already";
      EXPECT_EQ(all<effects::release>(copy).size(), 1U);
    }
    out.clear();
    replica.replication().replicated(slots, 1, out);
    ASSERT_EQ(all<effects::acknowledge>(out).size(), 1U);
    EXPECT_EQ(all<effects::acknowledge>(out)[0].code, reply_code::ok);
    EXPECT_EQ(all<effects::acknowledge>(out)[0].tag, again);
    EXPECT_TRUE(all<effects::followed>(out).empty()) << "it follows nobody now";
    EXPECT_EQ(replica.pushes_held(), 0U);
    EXPECT_EQ(replica.admin().first_missing(job, 0, std::vector<std::uint32_t>{table}), 1U);
  }
}

TEST_F(shard_chain_test, one_that_follows_another_may_be_handed_its_chunks_once_more) {
  open(consistency_kind::ssp);
  const shard_core::followed_step name{job, table, 0, 0, 0, 0};
  ASSERT_EQ(replica.follower().begin_seed(name).kind, push_admission::verdict::take);
  effects out;
  shard_core::seed_state state;
  state.now.ranks.resize(2);
  replica.follower().follow_seed(name, state, out);
  const shard_core::followed_step step{job, table, 0, 1, 0, 0};
  ASSERT_EQ(replica.follower().begin_step(step, bytes).kind, push_admission::verdict::take);
  replica.follower().follow_another();  // the payload never comes
  EXPECT_EQ(replica.follower().begin_seed(name).kind, push_admission::verdict::take);
  state.now.version = 3;
  state.kept = {2, 1};
  replica.follower().follow_seed(name, state, out);
  EXPECT_EQ(replica.snapshots().progress(0).version, 3U);
}

TEST_F(chunk_replication_test, a_job_that_ends_lets_go_when_the_replica_has_answered) {
  open(consistency_kind::ssp);
  push(primary, 0, 0, 1);
  effects out;
  primary.admin().close_job(job, out);
  ASSERT_EQ(all<effects::acknowledge>(out).size(), 1U);
  EXPECT_EQ(all<effects::acknowledge>(out)[0].code, reply_code::job_ended);
  EXPECT_TRUE(all<effects::release>(out).empty()) << "it is being sent";
  out.clear();
  primary.replication().replicated(slots, 1, out);
  EXPECT_EQ(all<effects::release>(out).size(), 1U);
  EXPECT_TRUE(all<effects::acknowledge>(out).empty());
}

TEST_F(chunk_replication_test, a_job_that_has_ended_lets_go_when_the_replica_is_gone) {
  open(consistency_kind::ssp);
  push(primary, 0, 0, 1);
  effects out;
  primary.admin().close_job(job, out);
  EXPECT_TRUE(primary.registry().open_jobs().empty());
  ASSERT_EQ(primary.registry().all_jobs().size(), 1U);
  out.clear();
  primary.replication().lead_nobody(job, out);
  EXPECT_EQ(all<effects::release>(out).size(), 1U);
  EXPECT_EQ(primary.pushes_held(), 0U);
}

}  // namespace
}  // namespace tidegate::policies
