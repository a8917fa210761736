// A primary and its replica, and an aggregator, as scripts: what happens, and each effect of
// it.
#include <gmock/gmock.h>

#include "tests/policies/shard/scenario.hpp"

namespace tidegate::policies {
namespace {

using namespace tests;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr consistency_spec stale{consistency_kind::ssp, 2};

TEST(shard_chain_scenarios, a_push_is_acknowledged_when_the_replica_has_made_its_step) {
  shard_scenario primary({.replicated = true});
  EXPECT_THAT(primary.leads(true), IsEmpty());
  EXPECT_THAT(primary.pushes({.rank = 0, .clock = 0}), IsEmpty());
  EXPECT_THAT(primary.pushes({.rank = 1, .clock = 0, .pulls = true}),
              ElementsAre("step chunk 0: 0/0 + 1/0 of 2, plane 0 to 0, keep the sum of clock 0",
                          "replicate chunk 0 version 1: the kept sum of 2, clock 0 of all",
                          "answer pull 1/1 of chunk 0: version 1 in plane 0, all below 1"));
  EXPECT_THAT(primary.pushes({.rank = 1, .clock = 0}), ElementsAre("release 1/0 again"));
  shard_scenario replica({.replicated = true, .is_replica = true});
  EXPECT_THAT(replica.pushes({.rank = 0, .clock = 0}),
              ElementsAre("release 0/0", "refuse 0/0 of chunk 0: a stale membership epoch"));
  EXPECT_THAT(replica.follows({.version = 1, .clock = 0}),
              ElementsAre("step chunk 0: step 1 of 2, plane 0 to 0", "release step 1",
                          "followed chunk 0 to version 1"));
  EXPECT_THAT(replica.follows({.version = 1, .clock = 0}),
              ElementsAre("ack at once version 1"));
  EXPECT_THAT(primary.replica_has(1), ElementsAre("release 0/0", "ack 0/0 of chunk 0",
                                                  "release 1/0", "ack 1/0 of chunk 0"));
  EXPECT_THAT(primary.replica_has(1), IsEmpty()) << "an answer that comes twice";
  EXPECT_EQ(primary.payloads(), 0U);
  EXPECT_EQ(replica.payloads(), 0U);
}

TEST(shard_chain_scenarios, steps_of_a_chunk_are_handed_to_the_replica_in_turn) {
  shard_scenario primary({.policy = stale, .replicated = true});
  primary.leads(true);
  EXPECT_THAT(primary.pushes({.rank = 0, .clock = 0}),
              ElementsAre("step chunk 0: 0/0 of 2, plane 0 to 0",
                          "replicate chunk 0 version 1: 0/0 of 2, clock 0 of 0"));
  EXPECT_THAT(primary.skips({.rank = 1, .clock = 0}), IsEmpty());
  EXPECT_THAT(primary.replica_has(1),
              ElementsAre("release 0/0", "ack 0/0 of chunk 0",
                          "replicate chunk 0 version 2: nothing of 2, clock 0 of 1"));
  EXPECT_THAT(primary.replica_has(2), ElementsAre("ack 1/0 of chunk 0"));
}

TEST(shard_chain_scenarios, a_replica_that_is_promoted_goes_on_with_all_that_it_has) {
  shard_scenario replica({.policy = stale, .replicated = true, .is_replica = true});
  EXPECT_THAT(replica.follows({.version = 1, .clock = 0, .rank = 0}),
              ElementsAre("step chunk 0: step 1 of 2, plane 0 to 0", "release step 1",
                          "followed chunk 0 to version 1"));
  EXPECT_THAT(replica.follows({.version = 2, .clock = 1, .rank = 0, .skips = true}),
              ElementsAre("followed chunk 0 to version 2"));
  EXPECT_THAT(replica.is_promoted(), IsEmpty());
  EXPECT_THAT(replica.admits({.rank = 0, .incarnation = 2}),
              ElementsAre("admit 0#2 at clock 2"));
  EXPECT_THAT(
      replica.pushes({.rank = 1, .clock = 0}),
      ElementsAre("step chunk 0: 1/0 of 2, plane 0 to 0", "release 1/0", "ack 1/0 of chunk 0"));
  EXPECT_THAT(replica.pushes({.rank = 0, .clock = 1, .incarnation = 2}),
              ElementsAre("release 0#2/1", "ack 0#2/1 of chunk 0"));
  EXPECT_THAT(replica.pulls({.rank = 0, .clock = 2, .incarnation = 2}),
              ElementsAre("answer pull 0#2/2 of chunk 0: version 3 in plane 0, all below 1"));
}

TEST(shard_chain_scenarios, a_bsp_replica_that_is_promoted_waits_for_all_as_the_primary_did) {
  shard_scenario replica({.workers_come_back = true, .replicated = true, .is_replica = true});
  replica.follows({.version = 1, .clock = 0});
  EXPECT_THAT(replica.is_promoted(), IsEmpty());
  EXPECT_THAT(replica.pushes({.rank = 0, .clock = 1, .pulls = true}), IsEmpty());
  EXPECT_THAT(replica.pulls({.rank = 1, .clock = 0}),
              ElementsAre("answer pull 1/0 of chunk 0: version 0 in plane 0, all below 0"))
      << "it is kept";
  EXPECT_THAT(
      replica.pushes({.rank = 1, .clock = 1}),
      ElementsAre(
          "step chunk 0: 0/1 + 1/1 of 2, plane 1 to 2", "release 0/1", "release 1/1",
          "ack 1/1 of chunk 0",
          "answer pull 0/2 of chunk 0: version 2 in plane 2, all below 2, and ack the push"));
}

TEST(shard_chain_scenarios, a_push_that_the_next_replica_lacks_waits_for_it_after_a_promotion) {
  shard_scenario middle({.policy = stale, .replicated = true, .is_replica = true});
  middle.leads(true);
  EXPECT_THAT(middle.follows({.version = 1, .clock = 0, .rank = 0}),
              ElementsAre("step chunk 0: step 1 of 2, plane 0 to 0, keep the sum of clock 0",
                          "replicate chunk 0 version 1: the kept sum of 2, clock 0 of 0",
                          "release step 1"));
  EXPECT_THAT(middle.is_promoted(), IsEmpty());
  EXPECT_THAT(middle.admits({.rank = 0, .incarnation = 2}),
              ElementsAre("admit 0#2 at clock 0"));
  EXPECT_THAT(middle.pushes({.rank = 0, .clock = 0, .incarnation = 2}),
              ElementsAre("release 0#2/0"));
  EXPECT_THAT(middle.replica_has(1), ElementsAre("ack 0#2/0 of chunk 0"));
}

TEST(shard_chain_scenarios, what_waits_is_acknowledged_when_there_is_no_replica_any_more) {
  shard_scenario primary({.policy = stale, .replicated = true});
  primary.leads(true);
  primary.pushes({.rank = 0, .clock = 0});
  primary.pushes({.rank = 1, .clock = 0});
  EXPECT_THAT(primary.finishes({.rank = 1}), ElementsAre("replicate farewell of 1"));
  EXPECT_THAT(primary.leads_nobody(),
              ElementsAre("release 0/0", "ack 0/0 of chunk 0", "release 1/0",
                          "ack 1/0 of chunk 0", "ack farewell of 1"));
  EXPECT_THAT(
      primary.pushes({.rank = 0, .clock = 1}),
      ElementsAre("step chunk 0: 0/1 of 2, plane 0 to 0", "release 0/1", "ack 0/1 of chunk 0"));
}

TEST(shard_chain_scenarios, a_farewell_is_acknowledged_when_the_replica_knows_it) {
  shard_scenario primary({.replicated = true});
  primary.leads(true);
  EXPECT_THAT(primary.finishes({.rank = 1}), ElementsAre("replicate farewell of 1"));
  EXPECT_THAT(primary.replica_knows_farewell(1), ElementsAre("ack farewell of 1"));
  shard_scenario replica({.replicated = true, .is_replica = true});
  EXPECT_THAT(replica.hears_farewell(1), IsEmpty());
  replica.follows({.version = 1, .clock = 0});
  EXPECT_THAT(replica.is_promoted(), IsEmpty());
  EXPECT_THAT(replica.pushes({.rank = 1, .clock = 0}),
              ElementsAre("release 1/0", "ack 1/0 of chunk 0"))
      << "it is in that step";
  EXPECT_THAT(
      replica.pushes({.rank = 0, .clock = 1}),
      ElementsAre("step chunk 0: 0/1 of 2, plane 0 to 0", "release 0/1", "ack 0/1 of chunk 0"));
}

TEST(shard_chain_scenarios, a_replica_that_begins_with_nothing_is_given_the_chunk) {
  shard_scenario primary({.replicated = true});
  primary.pushes({.rank = 0, .clock = 0});
  primary.pushes({.rank = 1, .clock = 0});
  EXPECT_THAT(primary.leads(false),
              ElementsAre("hand over chunk 0 in plane 0: version 1, ranks at 1 1"));
  primary.pushes({.rank = 0, .clock = 1});
  EXPECT_THAT(
      primary.pushes({.rank = 1, .clock = 1}),
      ElementsAre("step chunk 0: 0/1 + 1/1 of 2, plane 0 to 0, keep the sum of clock 1"))
      << "the step waits";
  EXPECT_THAT(primary.replica_is_given(1),
              ElementsAre("replicate chunk 0 version 2: the kept sum of 2, clock 1 of all"));
  EXPECT_THAT(primary.replica_has(2), ElementsAre("release 0/1", "ack 0/1 of chunk 0",
                                                  "release 1/1", "ack 1/1 of chunk 0"));
  shard_scenario replica({.replicated = true, .is_replica = true});
  EXPECT_THAT(replica.is_given(primary.core().replication().seed_of(0)),
              ElementsAre("followed chunk 0 to version 1"));
  EXPECT_THAT(replica.is_given(primary.core().replication().seed_of(0)),
              ElementsAre("ack at once version 1"));
  EXPECT_THAT(replica.follows({.version = 2, .clock = 1}),
              ElementsAre("step chunk 0: step 2 of 2, plane 0 to 0", "release step 2",
                          "followed chunk 0 to version 2"));
}

TEST(shard_chain_scenarios, a_replica_that_leads_another_has_followed_when_that_has) {
  shard_scenario middle({.replicated = true, .is_replica = true});
  middle.leads(true);
  EXPECT_THAT(middle.follows({.version = 1, .clock = 0}),
              ElementsAre("step chunk 0: step 1 of 2, plane 0 to 0, keep the sum of clock 0",
                          "replicate chunk 0 version 1: the kept sum of 2, clock 0 of all",
                          "release step 1"));
  EXPECT_THAT(middle.follows({.version = 1, .clock = 0}), ElementsAre("drop version 1"));
  EXPECT_THAT(middle.replica_has(1), ElementsAre("followed chunk 0 to version 1"));
}

TEST(shard_relay_scenarios, an_aggregator_hands_a_clock_on_when_all_its_members_have_pushed) {
  shard_scenario relay({.is_relay = true});
  EXPECT_THAT(relay.pushes({.rank = 1, .clock = 0}), IsEmpty());
  EXPECT_THAT(relay.pulls({.rank = 1, .clock = 1}), IsEmpty());
  EXPECT_THAT(
      relay.pushes({.rank = 0, .clock = 0}),
      ElementsAre("hand on clock 0 of chunk 0: 0/0 + 1/0", "ask for chunk 0 at clock 1"));
  EXPECT_THAT(relay.sum_is_answered(0), ElementsAre("release 0/0", "ack 0/0 of chunk 0",
                                                    "release 1/0", "ack 1/0 of chunk 0"));
  EXPECT_THAT(relay.sum_is_answered(0), IsEmpty()) << "an answer that comes twice";
  EXPECT_THAT(relay.pull_is_answered({.version = 1, .min_clock = 1}),
              ElementsAre("receive version 1 in plane 0",
                          "answer pull 1/1 of chunk 0: version 1 in plane 0, all below 1"));
  EXPECT_THAT(relay.pulls({.rank = 0, .clock = 1}),
              ElementsAre("answer pull 0/1 of chunk 0: version 1 in plane 0, all below 1"));
  EXPECT_EQ(relay.payloads(), 0U);
}

TEST(shard_relay_scenarios, an_aggregator_hands_on_a_skip_and_tells_its_members_of_a_refusal) {
  shard_scenario relay({.is_relay = true});
  relay.skips({.rank = 0, .clock = 0});
  EXPECT_THAT(relay.skips({.rank = 1, .clock = 0}),
              ElementsAre("hand on clock 0 of chunk 0: nothing"));
  EXPECT_THAT(relay.sum_is_answered(0, reply_code::job_ended),
              ElementsAre("refuse 0/0 of chunk 0: the job has ended",
                          "refuse 1/0 of chunk 0: the job has ended"));
  EXPECT_THAT(relay.pulls({.rank = 0, .clock = 1}), ElementsAre("ask for chunk 0 at clock 1"));
  EXPECT_THAT(relay.pull_is_refused(reply_code::job_ended),
              ElementsAre("refuse pull 0/1 of chunk 0: the job has ended"));
}

TEST(shard_relay_scenarios, an_async_aggregator_pulls_for_each_who_asks_anew) {
  shard_scenario relay({.policy = {consistency_kind::async, 0}, .is_relay = true});
  EXPECT_THAT(relay.pulls({.rank = 0, .clock = 0}), ElementsAre("ask for chunk 0 at clock 0"));
  EXPECT_THAT(relay.pulls({.rank = 1, .clock = 0}), IsEmpty()) << "one at a time";
  EXPECT_THAT(relay.pull_is_answered({.version = 3, .min_clock = 1}),
              ElementsAre("receive version 3 in plane 1",
                          "answer pull 0/0 of chunk 0: version 3 in plane 1, all below 1",
                          "answer pull 1/0 of chunk 0: version 3 in plane 1, all below 1"));
  EXPECT_THAT(relay.pulls({.rank = 1, .clock = 0}), ElementsAre("ask for chunk 0 at clock 0"));
}

TEST(shard_relay_scenarios, an_aggregator_asks_for_a_version_before_for_a_member_that_returns) {
  shard_scenario relay({.workers_come_back = true, .is_relay = true});
  relay.skips({.rank = 0, .clock = 0});
  relay.skips({.rank = 1, .clock = 0});
  EXPECT_THAT(relay.pulls({.rank = 0, .clock = 1}), ElementsAre("ask for chunk 0 at clock 1"));
  EXPECT_THAT(relay.pull_is_answered({.version = 1, .min_clock = 1}),
              ElementsAre("receive version 1 in plane 1",
                          "answer pull 0/1 of chunk 0: version 1 in plane 1, all below 1"));
  EXPECT_THAT(relay.pulls({.rank = 1, .clock = 0}), ElementsAre("ask for chunk 0 at clock 0"))
      << "it is not here";
  EXPECT_THAT(relay.pull_is_answered({.version = 0, .min_clock = 0}),
              ElementsAre("receive version 0 in plane 0",
                          "answer pull 1/0 of chunk 0: version 0 in plane 0, all below 0"));
  EXPECT_THAT(relay.pulls({.rank = 1, .clock = 1}),
              ElementsAre("answer pull 1/1 of chunk 0: version 1 in plane 1, all below 1"))
      << "it is kept";
}

TEST(shard_relay_scenarios, the_members_of_an_aggregator_do_not_wait_for_a_member_that_leaves) {
  shard_scenario relay({.is_relay = true});
  EXPECT_THAT(relay.pushes({.rank = 0, .clock = 0}), IsEmpty());
  EXPECT_THAT(relay.shuts_out(1), ElementsAre("rank 1 has pushed below clock 0"));
  EXPECT_THAT(relay.leaves({.rank = 1, .clock = 0}),
              ElementsAre("hand on clock 0 of chunk 0: 0/0"));
}

}  // namespace
}  // namespace tidegate::policies
