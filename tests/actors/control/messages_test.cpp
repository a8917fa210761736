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
  const auto job = roundtrip(policies::open_job_call{7,
                                                     2,
                                                     3,
                                                     2,
                                                     "name",
                                                     {policies::consistency_kind::ssp, 5},
                                                     policies::reduce_kind::sum,
                                                     true,
                                                     {0, 4},
                                                     {{0, 4}, {4, 5}},
                                                     {"above"},
                                                     {0x2'0000'0009},
                                                     3,
                                                     true,
                                                     true});
  EXPECT_EQ(job.token, 7u);
  EXPECT_EQ(job.epoch, 2u);
  EXPECT_EQ(job.workers, 3u);
  EXPECT_EQ(job.team, 2u);
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
  table.optimizer = {policies::optimizer_kind::adam, 0.1F, 0.2F, 0.3F, 0.4F, 0.5F, 0.6F};
  table.init = {policies::init_kind::uniform, 0.25F};
  table.init_key = 99;
  table.places = {{1, 2, 3, 4}, {5, 6, 7, 8}};
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

  const auto worker =
      roundtrip(policies::admit_worker_call{1, 2, 3, std::string("a\0b", 3), {7}, true});
  EXPECT_EQ(worker.token, 1u);
  EXPECT_EQ(worker.rank, 2u);
  EXPECT_EQ(worker.incarnation, 3u);
  EXPECT_EQ(worker.address.size(), 3u) << "addresses are binary";
  EXPECT_TRUE(worker.finished);
}

TEST_F(messages_test, calls_of_a_group) {
  const auto lead = roundtrip(policies::lead_call{3, "there", true});
  EXPECT_EQ(lead.view, 3u);
  EXPECT_EQ(lead.address, "there");
  EXPECT_TRUE(lead.has_all);
  const auto follow = roundtrip(policies::follow_call{4, "here"});
  EXPECT_EQ(follow.view, 4u);
  EXPECT_EQ(follow.address, "here");
  const auto promote = roundtrip(policies::promote_call{5, 6});
  EXPECT_EQ(promote.view, 5u);
  EXPECT_EQ(promote.epoch, 6u);
  const auto moved = roundtrip(policies::shard_moved{1, 2, "now"});
  EXPECT_EQ(moved.shard, 1u);
  EXPECT_EQ(moved.epoch, 2u);
  EXPECT_EQ(moved.address, "now");
}

TEST_F(messages_test, worker_messages) {
  const auto hello = roundtrip(policies::worker_hello{"job", 1, 2, "addr"});
  EXPECT_EQ(hello.job, "job");
  EXPECT_EQ(hello.rank, 1u);
  EXPECT_EQ(hello.incarnation, 2u);
  EXPECT_EQ(hello.address, "addr");
  const auto welcome = roundtrip(policies::worker_welcome{1,
                                                          2,
                                                          9,
                                                          3,
                                                          6,
                                                          4,
                                                          "ssp(3)",
                                                          policies::not_finite_rule::allow,
                                                          {"x", "y"},
                                                          {5, 6},
                                                          true,
                                                          true,
                                                          true});
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
  const auto roster = roundtrip(policies::roster_call{7, {1, 2, 3, true, false}});
  EXPECT_EQ(roster.token, 7u);
  EXPECT_EQ(roster.change, (policies::roster_change{1, 2, 3, true, false}));
  const auto hold = roundtrip(policies::hold_call{7, 8, 9});
  EXPECT_TRUE(hold.token == 7 && hold.clock == 8 && hold.rank == 9);
  const auto out = roundtrip(policies::shut_out_call{7, 8, true});
  EXPECT_TRUE(out.token == 7 && out.rank == 8 && out.only_asks);
  const auto grant = roundtrip(policies::table_grant{3, 40, "w", {{0, 1, 2, 3}}});
  EXPECT_EQ(grant.table, 3u);
  EXPECT_EQ(grant.elements, 40u);
  EXPECT_EQ(grant.name, "w");
  EXPECT_EQ(grant.places.size(), 1u);
  const auto progress = roundtrip(policies::worker_progress{1, 2, 0.5, 0.25, 3, 4, 5});
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
