#include "policies/coordinator/core.hpp"

#include <gtest/gtest.h>

#include "runtime/base/limits.hpp"

namespace tidegate::policies {
namespace {

using runtime::errc;

cluster_spec two_shards() {
  cluster_spec spec;
  spec.name = "c";
  spec.shards = 2;
  spec.chunk_bytes = 64;
  job_spec job;
  job.name = "j";
  job.workers = 2;
  job.optimizer.kind = optimizer_kind::adam;
  table_spec declared;
  declared.name = "w";
  declared.shape = {40};
  declared.optimizer.kind = optimizer_kind::momentum;
  job.tables.push_back(declared);
  spec.jobs.push_back(job);
  return spec;
}

class coordinator_core_test : public testing::Test {
 protected:
  coordinator_core core{two_shards(), 99};
  coordinator_effects out;

  void answer_calls() {
    auto calls = std::move(out.calls);
    out.calls.clear();
    for (const auto& call : calls) core.call_done(1, call.call, {}, out);
  }
  void join_shards() {
    core.shard_joined(1, 0, "s0", 1, out);
    core.shard_joined(1, 1, "s1", 2, out);
    answer_calls();
    out.answers.clear();
  }
  void join_workers(std::int64_t now) {
    for (std::uint32_t rank : {0u, 1u}) {
      core.worker_joined(now, {.job = "j", .rank = rank, .incarnation = 1, .address = "w"},
                         20 + rank, out);
      answer_calls();
    }
  }
  const coordinator_effects::answer& only_answer() {
    EXPECT_EQ(out.answers.size(), 1u);
    return out.answers.at(0);
  }
};

TEST_F(coordinator_core_test, jobs_open_when_the_last_shard_joins) {
  core.shard_joined(1, 0, "s0", 1, out);
  EXPECT_TRUE(out.calls.empty());
  core.shard_joined(1, 1, "s1", 2, out);
  // Two open_job, then the declared table on both shards: 40 floats in chunks of 16.
  ASSERT_EQ(out.calls.size(), 4u);
  EXPECT_TRUE(std::holds_alternative<open_job_call>(out.calls[0].message));
  std::uint64_t elements = 0;
  for (const auto& call : out.calls)
    if (const auto* open = std::get_if<open_table_call>(&call.message)) {
      EXPECT_EQ(open->optimizer.kind, optimizer_kind::momentum);
      for (const auto& place : open->places) {
        EXPECT_EQ(place.shard, call.shard);
        elements += place.elements;
      }
    }
  EXPECT_EQ(elements, 40u);
}

TEST_F(coordinator_core_test, a_worker_is_welcome_once_every_shard_expects_it) {
  core.worker_joined(1, {.job = "j", .rank = 1, .incarnation = 1, .address = "w1"}, 7, out);
  EXPECT_TRUE(out.answers.empty()) << "waits for the shards";
  core.shard_joined(1, 0, "s0", 1, out);
  core.shard_joined(1, 1, "s1", 2, out);
  out.answers.clear();
  ASSERT_EQ(out.calls.size(), 6u);
  const auto last = out.calls.back();
  for (const auto& call : out.calls)
    if (call.call != last.call) core.call_done(2, call.call, {}, out);
  EXPECT_TRUE(out.answers.empty());
  core.call_done(2, last.call, {}, out);
  ASSERT_TRUE(only_answer().result.ok());
  const auto& welcome = std::get<worker_welcome>(only_answer().value);
  EXPECT_EQ(welcome.shard_addresses, (std::vector<std::string>{"s0", "s1"}));
  EXPECT_EQ(welcome.workers, 2u);
  EXPECT_EQ(core.status(2, 0).jobs[0].state, job_state::running);
}

TEST_F(coordinator_core_test, strangers_are_refused_with_a_reason) {
  join_shards();
  const auto refused = [&](const worker_hello& hello, errc code) {
    out.answers.clear();
    core.worker_joined(1, hello, 5, out);
    ASSERT_EQ(out.answers.size(), 1u);
    EXPECT_EQ(out.answers[0].result.code(), code);
    EXPECT_FALSE(out.answers[0].result.message().empty());
  };
  refused({.job = "other", .rank = 0, .incarnation = 1, .address = "w"}, errc::not_found);
  refused({.job = "j", .rank = 2, .incarnation = 1, .address = "w"}, errc::invalid_argument);
  refused({.job = "j", .rank = 0, .incarnation = 0, .address = "w"}, errc::already_exists);
  refused({.job = "j", .rank = 0, .incarnation = 1, .address = ""}, errc::invalid_argument);
  out.answers.clear();
  core.shard_joined(1, 1, "again", 5, out);
  EXPECT_EQ(only_answer().result.code(), errc::already_exists);
  out.answers.clear();
  core.shard_joined(1, 2, "third", 5, out);
  EXPECT_EQ(only_answer().result.code(), errc::invalid_argument);
}

TEST_F(coordinator_core_test, a_table_is_created_once_and_attached_after) {
  join_shards();
  table_request request;
  request.job = "j";
  request.spec.name = "b";
  request.spec.shape = {4, 4};
  core.open_table(request, 10, out);
  core.open_table(request, 11, out);  // before the shards have answered
  ASSERT_EQ(out.calls.size(), 1u);
  EXPECT_EQ(std::get<open_table_call>(out.calls[0].message).optimizer.kind,
            optimizer_kind::adam)
      << "the job's optimizer";
  answer_calls();
  ASSERT_EQ(out.answers.size(), 2u);
  out.answers.clear();
  core.open_table(request, 12, out);
  EXPECT_TRUE(out.calls.empty());
  EXPECT_EQ(std::get<table_grant>(only_answer().value).elements, 16u);
  EXPECT_EQ(core.tables("j").size(), 2u);
  EXPECT_EQ(core.tables("j")[0].name, "b") << "by name, not by creation";
}

TEST_F(coordinator_core_test, attaching_with_another_shape_or_options_is_refused) {
  join_shards();
  table_request request;
  request.job = "j";
  request.spec.name = "w";
  request.spec.shape = {41};
  core.open_table(request, 10, out);
  EXPECT_EQ(only_answer().result.code(), errc::invalid_argument);
  out.answers.clear();
  request.spec.shape = {40};
  core.open_table(request, 11, out);
  EXPECT_TRUE(only_answer().result.ok()) << "the YAML's options stand";
  out.answers.clear();
  request.optimizer_given = true;
  core.open_table(request, 12, out);
  EXPECT_EQ(only_answer().result.code(), errc::invalid_argument);
  out.answers.clear();
  request.spec.name.assign(runtime::limits::name_bytes_max + 1, 'x');
  core.open_table(request, 13, out);
  EXPECT_EQ(only_answer().result.code(), errc::invalid_argument);
  out.answers.clear();
  request.spec.name = "zero";
  request.spec.shape = {0};
  core.open_table(request, 14, out);
  EXPECT_EQ(only_answer().result.code(), errc::invalid_argument);
}

// Reports are of other moments: no worker of bsp is shown where it cannot be.
TEST_F(coordinator_core_test, the_slowest_is_not_shown_further_behind_than_the_policy_allows) {
  join_shards();
  join_workers(1);
  const auto slowest = [&] { return core.status(2, 0).jobs[0].clock_slowest; };
  core.progress(1, "j", 1, {.clock = 30, .times = {.elapsed_ns = 9}}, out);
  core.progress(1, "j", 0, {.clock = 50}, out);
  EXPECT_EQ(slowest(), 30U) << "one that has not begun may not be there yet";
  core.progress(1, "j", 0, {.clock = 50, .times = {.elapsed_ns = 9}}, out);
  EXPECT_EQ(slowest(), 48U);
  core.worker_finished(2, "j", 0, {.clock = 60, .times = {.elapsed_ns = 9}}, "", out);
  EXPECT_EQ(slowest(), 58U) << "when that finished the other was there";
  core.progress(1, "j", 1, {.clock = 90, .times = {.elapsed_ns = 9}}, out);
  EXPECT_EQ(slowest(), 60U) << "one that has finished waits for nobody";
}

TEST_F(coordinator_core_test, a_job_is_done_when_its_last_worker_is) {
  join_shards();
  join_workers(1'000'000'000);
  core.progress(1, "j", 0,
                {.clock = 5,
                 .clocks_total = 10,
                 .epoch = 0.5,
                 .loss = 2.0,
                 .samples = 100,
                 .staleness_max = 1,
                 .staleness = {7, 1}},
                out);
  core.progress(1, "j", 1,
                {.clock = 3,
                 .clocks_total = 10,
                 .epoch = 0.3,
                 .loss = 4.0,
                 .samples = 60,
                 .staleness_max = 2,
                 .staleness = {1, 2, 3, 4, 5, 6, 7, 8, 9}},
                out);
  auto shown = core.status(3'000'000'000, 0).jobs[0];
  EXPECT_EQ(shown.clock_slowest, 3u);
  EXPECT_EQ(shown.clock_fastest, 5u);
  EXPECT_EQ(shown.samples, 160u);
  EXPECT_EQ(shown.staleness_max, 2u);
  EXPECT_EQ(shown.staleness, (staleness_counts{8, 3, 3, 4, 5, 6, 7, 8})) << "and no more";
  EXPECT_DOUBLE_EQ(shown.loss, 3.0);
  core.worker_finished(4'000'000'000, "j", 1,
                       {.clock = 10,
                        .clocks_total = 10,
                        .epoch = 1,
                        .loss = 1,
                        .samples = 200,
                        .staleness_max = 2},
                       "", out);
  EXPECT_EQ(core.status(4, 0).jobs[0].state, job_state::running);
  core.worker_finished(5'000'000'000, "j", 0,
                       {.clock = 10,
                        .clocks_total = 10,
                        .epoch = 1,
                        .loss = 1,
                        .samples = 200,
                        .staleness_max = 0},
                       "abc", out);
  shown = core.status(9'000'000'000, 0).jobs[0];
  EXPECT_EQ(shown.state, job_state::done);
  EXPECT_EQ(shown.parameters_sha256, "abc");
  EXPECT_NEAR(shown.seconds, 5.0, 1.1);
  core.fail_job(6'000'000'000, "j", "late", out);
  EXPECT_EQ(core.status(7, 0).jobs[0].state, job_state::done) << "done stays done";
}

// Found by simulation: it had finished before it died, and the others did while it was let in.
TEST_F(coordinator_core_test, nobody_is_let_into_a_job_that_has_ended_meanwhile) {
  join_shards();
  join_workers(1);
  core.worker_finished(2, "j", 1, {}, "", out);
  out = {};
  core.worker_joined(3, {.job = "j", .rank = 1, .incarnation = 2, .address = "w"}, 30, out);
  core.worker_finished(4, "j", 0, {}, "abc", out);
  answer_calls();
  EXPECT_EQ(only_answer().to, 30u);
  EXPECT_EQ(only_answer().result.code(), errc::refused);
  EXPECT_EQ(core.status(5, 0).jobs[0].state, job_state::done);
}

TEST_F(coordinator_core_test, a_failed_job_answers_everyone_who_waits) {
  core.worker_joined(1, {.job = "j", .rank = 1, .incarnation = 1, .address = "w1"}, 7, out);
  core.fail_job(2, "j", "NaN", out);
  EXPECT_EQ(only_answer().result.code(), errc::cancelled);
  EXPECT_EQ(core.status(3, 0).jobs[0].failure, "NaN");
  core.fail_job(3, "j", "second", out);
  EXPECT_EQ(core.status(3, 0).jobs[0].failure, "NaN") << "the first reason stands";
}

TEST_F(coordinator_core_test, a_table_asked_for_in_a_failed_job_is_refused_at_once) {
  join_shards();
  table_request request;
  request.job = "j";
  request.spec.name = "b";
  request.spec.shape = {4};
  core.open_table(request, 10, out);
  core.fail_job(2, "j", "x", out);
  out.answers.clear();
  core.open_table(request, 11, out);
  EXPECT_EQ(only_answer().result.code(), errc::refused);
}

TEST_F(coordinator_core_test, tables_must_be_the_same_for_all_workers) {
  join_shards();
  core.tables_opened(1, "j", 0, {0}, out);
  core.tables_opened(1, "j", 1, {0}, out);
  EXPECT_NE(core.status(2, 0).jobs[0].state, job_state::failed);
  core.tables_opened(1, "j", 1, {}, out);
  EXPECT_EQ(core.status(2, 0).jobs[0].state, job_state::failed);
  EXPECT_NE(
      core.status(2, 0).jobs[0].failure.find("worker 0 opened table 'w' and worker 1 did"),
      std::string::npos);
}

TEST_F(coordinator_core_test, metrics_are_bounded) {
  for (std::uint32_t i = 0; i < runtime::limits::metrics_max; ++i)
    ASSERT_TRUE(core.metric("j", "m" + std::to_string(i), i, out).ok());
  EXPECT_EQ(core.metric("j", "one_more", 0, out).code(), errc::over_limit);
  EXPECT_TRUE(core.metric("j", "m0", 5, out).ok()) << "known ones may change";
  EXPECT_EQ(core.metric("x", "m", 0, out).code(), errc::not_found);
}

TEST_F(coordinator_core_test, events_are_handed_out_from_where_the_caller_is) {
  join_shards();
  const auto all = core.status(1, 0).events;
  ASSERT_GE(all.size(), 2u);
  const auto rest = core.status(1, 1).events;
  EXPECT_EQ(rest.size(), all.size() - 1);
  EXPECT_EQ(rest[0].subject, all[1].subject);
  EXPECT_TRUE(core.status(1, 10'000).events.empty());
}

TEST_F(coordinator_core_test, a_worker_goes_on_where_the_last_shard_has_it) {
  join_shards();
  core.worker_joined(1, {.job = "j", .rank = 0, .incarnation = 1, .address = "a"}, 5, out);
  answer_calls();
  EXPECT_EQ(std::get<worker_welcome>(only_answer().value).first_clock, 0U);
  out.answers.clear();
  core.worker_joined(2, {.job = "j", .rank = 0, .incarnation = 2, .address = "b"}, 6, out);
  ASSERT_EQ(out.calls.size(), 2U);
  core.call_done(2, out.calls[0].call, {}, out, 9);
  core.call_done(2, out.calls[1].call, {}, out, 8);
  EXPECT_EQ(std::get<worker_welcome>(only_answer().value).first_clock, 8U);
  const auto events = core.status(2, 0).events;
  EXPECT_EQ(events.back().subject, "worker_resumes");
  EXPECT_EQ(events.back().detail, "j rank 0 at clock 8");
}

TEST_F(coordinator_core_test, a_worker_that_cannot_be_let_in_is_refused_and_its_job_goes_on) {
  join_shards();
  core.worker_joined(1, {.job = "j", .rank = 0, .incarnation = 1, .address = "a"}, 5, out);
  core.call_done(1, out.calls[0].call, {errc::unavailable, "its address is gone"}, out);
  core.call_done(1, out.calls[1].call, {}, out);
  EXPECT_EQ(only_answer().result.code(), errc::unavailable);
  EXPECT_EQ(core.status(1, 0).jobs[0].state, job_state::waiting);
}

TEST_F(coordinator_core_test, a_process_that_has_been_replaced_meanwhile_is_not_welcome) {
  join_shards();
  core.worker_joined(1, {.job = "j", .rank = 0, .incarnation = 1, .address = "a"}, 5, out);
  auto calls = std::exchange(out.calls, {});
  core.worker_joined(1, {.job = "j", .rank = 0, .incarnation = 2, .address = "b"}, 6, out);
  for (const auto& call : calls) core.call_done(1, call.call, {}, out);
  EXPECT_EQ(only_answer().to, 5U);
  EXPECT_EQ(only_answer().result.code(), errc::cancelled);
  out.answers.clear();
  answer_calls();
  EXPECT_TRUE(only_answer().result.ok());
}

TEST_F(coordinator_core_test, of_two_processes_that_come_early_the_last_one_waits) {
  core.worker_joined(1, {.job = "j", .rank = 0, .incarnation = 1, .address = "a"}, 5, out);
  core.worker_joined(1, {.job = "j", .rank = 0, .incarnation = 2, .address = "b"}, 6, out);
  EXPECT_EQ(only_answer().to, 5U);
  EXPECT_FALSE(only_answer().result.ok());
  join_shards();
  std::size_t admitted = 0;
  for (const auto& call : out.calls)
    admitted += std::holds_alternative<admit_worker_call>(call.message) ? 1 : 0;
  EXPECT_EQ(admitted, 0U) << "answered by join_shards";
}

// In a cluster with replicas shard 0's replica dies, and its successor is set up while a
// worker that has died meanwhile cannot be reached.
TEST(coordinator_groups, a_dead_worker_does_not_keep_a_replica_from_being_set_up) {
  auto spec = two_shards();
  spec.shards = 1;
  spec.replicas = 1;
  coordinator_core core(spec, 99);
  coordinator_effects out;
  const auto answer = [&](bool reaches_workers) {
    while (!out.calls.empty()) {
      auto calls = std::move(out.calls);
      out.calls.clear();
      for (const auto& call : calls) {
        const bool fails =
            !reaches_workers && std::holds_alternative<admit_worker_call>(call.message);
        core.call_done(
            1, call.call,
            fails ? runtime::status(errc::refused, "no such peer") : runtime::status(), out);
      }
    }
  };
  core.shard_joined(1, 0, "p", 1, out, {0, 1});
  core.shard_joined(1, 0, "r", 2, out, {1, 1});
  core.worker_joined(1, {.job = "j", .rank = 0, .incarnation = 1, .address = "w0"}, 3, out);
  answer(true);
  EXPECT_EQ(core.status(2, 0).replicas_in_sync, 1U);
  core.shard_lost(2, 0, "killed", out, 1);
  answer(true);
  EXPECT_EQ(core.status(2, 0).replicas_in_sync, 0U);
  core.shard_joined(3, 0, "r2", 4, out, {1, 2});
  answer(false);
  EXPECT_EQ(core.status(3, 0).replicas_in_sync, 1U);
  core.shard_lost(4, 0, "killed", out, 0);
  answer(true);
  ASSERT_EQ(out.moves.size(), 1U);
  EXPECT_EQ(out.moves[0].message.address, "r2");
}

}  // namespace
}  // namespace tidegate::policies
