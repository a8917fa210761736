// Every message type survives the wire; a field that inspect() forgets shows here.
#include "actors/control/messages.hpp"

#include <vector>

#include <caf/all.hpp>
#include <gtest/gtest.h>

#include "actors/control/errors.hpp"
#include "actors/control/system.hpp"

namespace tidegate::actors {
namespace {

class messages_test : public testing::Test {
 protected:
  // Sends a value through CAF's binary format and compares what its rendering shows of every
  // field.
  template <class T>
  T roundtrip(T value) {
    caf::binary_serializer::container_type bytes;
    caf::binary_serializer sink(process.get(), bytes);
    EXPECT_FALSE(sink(value));
    T copy;
    caf::binary_deserializer source(process.get(), bytes);
    EXPECT_FALSE(source(copy));
    EXPECT_EQ(source.remaining(), 0u);
    return copy;
  }

  process_system process;
};

TEST_F(messages_test, shard_calls) {
  const auto job =
      roundtrip(policies::open_job_call{.token = 7,
                                        .epoch = 2,
                                        .workers = 3,
                                        .contributors = 2,
                                        .name = "name",
                                        .consistency = {policies::consistency_kind::ssp, 5},
                                        .reduce = policies::reduce_kind::sum,
                                        .workers_come_back = true,
                                        .members = {0, 4},
                                        .nodes = {{0, 4}, {4, 5}},
                                        .upstream = {"above"},
                                        .upstream_epochs = {0x2'0000'0009},
                                        .incarnation = 3,
                                        .upstream_moves = true,
                                        .replicated = true,
                                        .clip_norm = 0.5F});
  EXPECT_EQ(job.clip_norm, 0.5F);
  EXPECT_EQ(job.token, 7u);
  EXPECT_EQ(job.epoch, 2u);
  EXPECT_EQ(job.workers, 3u);
  EXPECT_EQ(job.contributors, 2u);
  EXPECT_EQ(job.name, "name");
  EXPECT_EQ(job.consistency, (policies::consistency_spec{policies::consistency_kind::ssp, 5}));
  EXPECT_EQ(job.reduce, policies::reduce_kind::sum);
  EXPECT_TRUE(job.workers_come_back);
  EXPECT_EQ(job.members, (std::vector<std::uint32_t>{0, 4}));
  EXPECT_EQ(job.nodes, (std::vector<policies::rank_node>{{0, 4}, {4, 5}}));
  EXPECT_EQ(job.upstream, std::vector<std::string>{"above"});
  EXPECT_EQ(job.upstream_epochs, std::vector<std::uint64_t>{0x2'0000'0009});
  EXPECT_EQ(job.incarnation, 3u);
  EXPECT_TRUE(job.upstream_moves && job.replicated);

  policies::open_table_call table;
  table.token = 1;
  table.table = 2;
  table.optimizer = {.kind = policies::optimizer_kind::adam,
                     .learning_rate = 0.1F,
                     .momentum = 0.2F,
                     .beta1 = 0.3F,
                     .beta2 = 0.4F,
                     .epsilon = 0.5F,
                     .weight_decay = 0.6F,
                     .l1 = 0.65F,
                     .l2 = 0.66F,
                     .clip_value = 0.7F,
                     .schedule = {.kind = runtime::schedule_kind::cosine,
                                  .warmup = 11,
                                  .clocks = 12,
                                  .factor = 0.8F},
                     .lazy = true};
  table.init = {policies::init_kind::uniform, 0.25F};
  table.init_key = 99;
  table.places = {{.chunk = 1, .shard = 2, .first = 3, .elements = 4},
                  {.chunk = 5, .shard = 6, .first = 7, .elements = 8}};
  table.first_clocks = {9, 10};
  const auto opened = roundtrip(table);
  EXPECT_EQ(opened.token, 1u);
  EXPECT_EQ(opened.table, 2u);
  EXPECT_EQ(opened.optimizer, table.optimizer);
  EXPECT_EQ(opened.init, table.init);
  EXPECT_EQ(opened.init_key, 99u);
  EXPECT_EQ(opened.places, table.places);
  EXPECT_EQ(opened.first_clocks, table.first_clocks);

  const auto asked = roundtrip(policies::sum_progress_call{7, {0, 4}});
  EXPECT_EQ(asked.token, 7u);
  EXPECT_EQ(asked.ranks, (std::vector<std::uint32_t>{0, 4}));
  EXPECT_EQ(roundtrip(policies::chunk_clock{1, 2, 3}), (policies::chunk_clock{1, 2, 3}));

  const auto worker = roundtrip(policies::admit_worker_call{.token = 1,
                                                            .rank = 2,
                                                            .incarnation = 3,
                                                            .address = std::string("a\0b", 3),
                                                            .tables = {7},
                                                            .finished = true});
  EXPECT_EQ(worker.token, 1u);
  EXPECT_EQ(worker.rank, 2u);
  EXPECT_EQ(worker.incarnation, 3u);
  EXPECT_EQ(worker.address.size(), 3u) << "addresses are binary";
  EXPECT_TRUE(worker.finished);
}

TEST_F(messages_test, calls_of_a_group) {
  const auto lead =
      roundtrip(policies::lead_call{.view = 3, .address = "there", .has_all = true});
  EXPECT_EQ(lead.view, 3u);
  EXPECT_EQ(lead.address, "there");
  EXPECT_TRUE(lead.has_all);
  const auto follow = roundtrip(policies::follow_call{4, "here"});
  EXPECT_EQ(follow.view, 4u);
  EXPECT_EQ(follow.address, "here");
  const auto promote = roundtrip(policies::promote_call{5, 6});
  EXPECT_EQ(promote.view, 5u);
  EXPECT_EQ(promote.epoch, 6u);
  const auto moved = roundtrip(policies::shard_moved{.shard = 1, .epoch = 2, .address = "now"});
  EXPECT_EQ(moved.shard, 1u);
  EXPECT_EQ(moved.epoch, 2u);
  EXPECT_EQ(moved.address, "now");
}

TEST_F(messages_test, worker_messages) {
  const auto hello = roundtrip(
      policies::worker_hello{.job = "job", .rank = 1, .incarnation = 2, .address = "addr"});
  EXPECT_EQ(hello.job, "job");
  EXPECT_EQ(hello.rank, 1u);
  EXPECT_EQ(hello.incarnation, 2u);
  EXPECT_EQ(hello.address, "addr");
  const auto welcome =
      roundtrip(policies::worker_welcome{.token = 1,
                                         .epoch = 2,
                                         .first_clock = 9,
                                         .workers = 3,
                                         .capacity = 6,
                                         .seed = 4,
                                         .policy = "ssp(3)",
                                         .not_finite = policies::not_finite_rule::allow,
                                         .shard_addresses = {"x", "y"},
                                         .shard_epochs = {5, 6},
                                         .aggregated = true,
                                         .one_clock_in_flight = true,
                                         .replicated = true,
                                         .tables = 8});
  EXPECT_EQ(welcome.tables, 8u);
  EXPECT_EQ(welcome.token, 1u);
  EXPECT_EQ(welcome.epoch, 2u);
  EXPECT_EQ(welcome.first_clock, 9u);
  EXPECT_EQ(welcome.workers, 3u);
  EXPECT_EQ(welcome.capacity, 6u);
  EXPECT_EQ(welcome.seed, 4u);
  EXPECT_EQ(welcome.policy, "ssp(3)");
  EXPECT_EQ(welcome.not_finite, policies::not_finite_rule::allow);
  EXPECT_EQ(welcome.shard_addresses, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(welcome.shard_epochs, (std::vector<std::uint64_t>{5, 6}));
  EXPECT_TRUE(welcome.aggregated && welcome.one_clock_in_flight && welcome.replicated);
  const auto membership_schedule = roundtrip(policies::membership_call{
      7, {.number = 1, .rank = 2, .clock = 3, .joins = true, .pushes_here = false}});
  EXPECT_EQ(membership_schedule.token, 7u);
  EXPECT_EQ(membership_schedule.change, (policies::membership_change{1, 2, 3, true, false}));
  const auto hold = roundtrip(policies::join_barrier_call{.token = 7, .clock = 8, .rank = 9});
  EXPECT_TRUE(hold.token == 7 && hold.clock == 8 && hold.rank == 9);
  const auto out = roundtrip(policies::shut_out_call{.token = 7, .rank = 8, .only_asks = true});
  EXPECT_TRUE(out.token == 7 && out.rank == 8 && out.only_asks);
  const auto grant = roundtrip(
      policies::table_grant{.table = 3,
                            .elements = 40,
                            .name = "w",
                            .places = {{.chunk = 0, .shard = 1, .first = 2, .elements = 3}}});
  EXPECT_EQ(grant.table, 3u);
  EXPECT_EQ(grant.elements, 40u);
  EXPECT_EQ(grant.name, "w");
  EXPECT_EQ(grant.places.size(), 1u);
  const auto progress = roundtrip(policies::worker_progress{.clock = 1,
                                                            .clocks_total = 2,
                                                            .epoch = 0.5,
                                                            .loss = 0.25,
                                                            .samples = 3,
                                                            .staleness_max = 4,
                                                            .payload_bytes_copied = 5});
  EXPECT_EQ(progress.clock, 1u);
  EXPECT_EQ(progress.clocks_total, 2u);
  EXPECT_EQ(progress.epoch, 0.5);
  EXPECT_EQ(progress.loss, 0.25);
  EXPECT_EQ(progress.samples, 3u);
  EXPECT_EQ(progress.staleness_max, 4u);
  EXPECT_EQ(progress.payload_bytes_copied, 5u);
  policies::table_request request;
  request.job = "j";
  request.spec.name = "t";
  request.spec.shape = {2, 3};
  request.spec.optimizer.kind = policies::optimizer_kind::momentum;
  request.spec.init.value = 2;
  request.options_given = true;
  request.optimizer_given = true;
  const auto asked = roundtrip(request);
  EXPECT_EQ(asked.job, "j");
  EXPECT_EQ(asked.spec, request.spec);
  EXPECT_TRUE(asked.options_given);
  EXPECT_TRUE(asked.optimizer_given);
}

TEST_F(messages_test, cluster_status) {
  policies::cluster_status status;
  status.epoch = 1;
  status.shards_joined = 2;
  policies::job_status job;
  job.name = "j";
  job.policy = "bsp";
  job.state = policies::job_state::failed;
  job.failure = "why";
  job.workers_joined = 3;
  job.workers_finished = 2;
  job.clock_slowest = 4;
  job.clock_fastest = 5;
  job.clocks_total = 6;
  job.epoch = 7;
  job.loss = 8;
  job.samples = 9;
  job.staleness_max = 10;
  job.payload_bytes_copied = 13;
  job.seconds = 11;
  job.metrics = {{"test_accuracy", 0.9}};
  job.parameters_sha256 = "abc";
  status.jobs.push_back(job);
  status.events.push_back({12, "what", "detail"});
  const auto copy = roundtrip(status);
  EXPECT_EQ(copy.epoch, 1u);
  EXPECT_EQ(copy.shards_joined, 2u);
  ASSERT_EQ(copy.jobs.size(), 1u);
  EXPECT_EQ(copy.jobs[0].name, "j");
  EXPECT_EQ(copy.jobs[0].policy, "bsp");
  EXPECT_EQ(copy.jobs[0].state, policies::job_state::failed);
  EXPECT_EQ(copy.jobs[0].failure, "why");
  EXPECT_EQ(copy.jobs[0].workers_joined, 3u);
  EXPECT_EQ(copy.jobs[0].workers_finished, 2u);
  EXPECT_EQ(copy.jobs[0].clock_slowest, 4u);
  EXPECT_EQ(copy.jobs[0].clock_fastest, 5u);
  EXPECT_EQ(copy.jobs[0].clocks_total, 6u);
  EXPECT_EQ(copy.jobs[0].epoch, 7);
  EXPECT_EQ(copy.jobs[0].loss, 8);
  EXPECT_EQ(copy.jobs[0].samples, 9u);
  EXPECT_EQ(copy.jobs[0].staleness_max, 10u);
  EXPECT_EQ(copy.jobs[0].payload_bytes_copied, 13u);
  EXPECT_EQ(copy.jobs[0].seconds, 11);
  EXPECT_EQ(copy.jobs[0].metrics.at("test_accuracy"), 0.9);
  EXPECT_EQ(copy.jobs[0].parameters_sha256, "abc");
  ASSERT_EQ(copy.events.size(), 1u);
  EXPECT_EQ(copy.events[0].unix_ns, 12);
  EXPECT_EQ(copy.events[0].subject, "what");
  EXPECT_EQ(copy.events[0].detail, "detail");
}

TEST_F(messages_test, errors_keep_code_and_message) {
  const runtime::status why(runtime::errc::refused, "no");
  const auto copy = roundtrip(to_error(why));
  EXPECT_EQ(to_status(copy, "doing"), why);
  EXPECT_EQ(to_status(caf::make_error(caf::sec::request_timeout), "doing").code(),
            runtime::errc::timed_out);
  EXPECT_EQ(to_status(caf::make_error(caf::sec::request_receiver_down), "doing").code(),
            runtime::errc::unavailable);
}

}  // namespace
}  // namespace tidegate::actors
