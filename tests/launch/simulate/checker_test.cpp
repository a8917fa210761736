// Every promise that the checker keeps an eye on, broken once by hand.
#include "launch/simulate/cluster/checker.hpp"

#include <gtest/gtest.h>

#include "launch/simulate/cluster/row_ids.hpp"
#include "runtime/kernels/gaps.hpp"

namespace tidegate::sim {
namespace {

using policies::consistency_kind;

constexpr std::uint64_t job = 7;
constexpr std::uint32_t table = 3;
constexpr std::uint32_t chunk = 0;

class checker_test : public testing::Test {
 protected:
  void start(consistency_kind kind, std::uint32_t staleness = 0) {
    policies::job_spec spec;
    spec.name = "job";
    spec.workers = 3;
    spec.seed = 2;  // learning rates are left as they are (rate_of)
    spec.reduce = policies::reduce_kind::sum;
    spec.consistency = {kind, staleness};
    check.expect_job(spec);
    check.open_job(job, "job");
    auto sgd = policies::default_optimizer(policies::optimizer_kind::sgd);
    sgd.learning_rate = 1;
    check.open_chunk(job, table, "t", chunk, sgd, parameters);
  }
  // Rank r pushes r + 1 of every element.
  void push(std::uint32_t rank, std::uint64_t clock) {
    check.pushed(job, table, chunk, {rank, clock},
                 std::vector<float>(2, static_cast<float>(rank + 1)));
  }
  void apply(const updates& with) {
    for (auto& value : parameters)
      for (const auto& one : with) value -= static_cast<float>(one.rank + 1);
    check.applied(job, table, chunk, with, parameters);
  }
  void read(std::uint32_t rank, std::uint64_t clock, bool is_final = false) {
    check.pulled(job, table, chunk, {.rank = rank, .clock = clock, .is_final = is_final},
                 parameters);
  }
  void answer(std::uint32_t rank, std::uint64_t clock) {
    check.answered(job, table, chunk, {.rank = rank, .clock = clock, .is_final = false},
                   parameters);
  }
  std::string broken() const {
    return check.broken() ? check.violations().front().promise : "";
  }

  checker check;
  std::vector<float> parameters = std::vector<float>(2, 10.0F);
};

TEST_F(checker_test, is_content_with_a_clock_of_bsp) {
  start(consistency_kind::bsp);
  read(0, 0);
  for (const std::uint32_t rank : {0u, 1u, 2u}) push(rank, 0);
  apply({{0, 0}, {1, 0}, {2, 0}});
  read(1, 1);
  read(0, ~std::uint64_t{0}, true);
  check.all_done();
  EXPECT_EQ(broken(), "");
}

TEST_F(checker_test, sees_an_update_twice) {
  start(consistency_kind::async);
  push(1, 0);
  apply({{1, 0}});
  apply({{1, 0}});
  EXPECT_EQ(broken(), "exactly once");
}

TEST_F(checker_test, sees_an_update_that_nobody_pushed) {
  start(consistency_kind::async);
  apply({{1, 0}});
  EXPECT_EQ(broken(), "exactly once");
}

TEST_F(checker_test, sees_at_the_end_what_was_never_applied) {
  start(consistency_kind::async);
  push(1, 0);
  check.all_done();
  EXPECT_EQ(broken(), "exactly once");
}

TEST_F(checker_test, sees_a_step_with_other_values) {
  start(consistency_kind::async);
  push(1, 0);
  parameters[1] += 0.5F;
  apply({{1, 0}});
  EXPECT_EQ(broken(), "same bits");
}

TEST_F(checker_test, sees_values_that_never_were_a_version) {
  start(consistency_kind::async);
  push(1, 0);
  apply({{1, 0}});
  parameters[0] = 10.0F;  // half of the step
  read(0, 0);
  EXPECT_EQ(broken(), "never torn");
}

TEST_F(checker_test, sees_a_bsp_pull_that_misses_another_worker) {
  start(consistency_kind::bsp);
  push(0, 0);
  push(1, 0);
  apply({{0, 0}});
  read(0, 1);
  EXPECT_EQ(broken(), "consistency");
}

TEST_F(checker_test, sees_a_bsp_pull_that_finds_too_much) {
  start(consistency_kind::bsp);
  push(0, 0);
  apply({{0, 0}});
  read(1, 0);
  EXPECT_EQ(broken(), "consistency");
}

TEST_F(checker_test, knows_the_bound_of_ssp_and_a_workers_own_updates) {
  start(consistency_kind::ssp, 1);
  push(0, 0);
  push(1, 0);
  apply({{0, 0}});
  read(0, 1);
  EXPECT_EQ(broken(), "") << "one clock behind is allowed";
  read(1, 1);
  EXPECT_EQ(broken(), "consistency") << "its own is missing";
}

TEST_F(checker_test, sees_an_ssp_pull_beyond_the_bound) {
  start(consistency_kind::ssp, 1);
  push(1, 0);
  read(0, 2);
  EXPECT_EQ(broken(), "consistency");
}

TEST_F(checker_test, sees_a_final_pull_that_is_not_final) {
  start(consistency_kind::async);
  push(1, 0);
  read(0, 0);
  EXPECT_EQ(broken(), "");
  read(0, ~std::uint64_t{0}, true);
  EXPECT_EQ(broken(), "consistency");
}

TEST_F(checker_test, sees_an_answer_that_is_not_the_newest) {
  start(consistency_kind::async);
  answer(0, 0);
  push(1, 0);
  const auto before = parameters;
  apply({{1, 0}});
  answer(0, 0);
  EXPECT_EQ(broken(), "");
  parameters = before;
  answer(0, 0);
  EXPECT_EQ(broken(), "fresh");
}

TEST_F(checker_test, sees_an_answer_before_its_time) {
  start(consistency_kind::ssp, 1);
  push(0, 0);
  apply({{0, 0}});
  push(1, 0);
  answer(0, 1);
  EXPECT_EQ(broken(), "");
  answer(0, 2);
  EXPECT_EQ(broken(), "consistency");
}

TEST_F(checker_test, sees_a_bsp_answer_with_too_much) {
  start(consistency_kind::bsp);
  push(0, 0);
  apply({{0, 0}});
  answer(1, 0);
  EXPECT_EQ(broken(), "consistency");
}

TEST_F(checker_test, sees_an_epoch_that_falls) {
  check.accepted(1, job, 4);
  check.accepted(1, job, 5);
  check.accepted(2, job, 4);  // has not heard of it yet
  check.accepted(1, job + 1, 1);
  EXPECT_EQ(broken(), "");
  check.accepted(1, job, 4);
  EXPECT_EQ(broken(), "epochs rise");
}

TEST_F(checker_test, sees_two_that_serve_a_chunk_in_one_epoch) {
  start(consistency_kind::async);
  check.served(1, job, 4, table, chunk);
  check.served(1, job, 4, table, chunk);
  check.served(2, job, 5, table, chunk);
  EXPECT_EQ(broken(), "") << "another epoch, another server";
  check.served(1, job, 5, table, chunk);
  EXPECT_EQ(broken(), "one server");
}

TEST_F(checker_test, sees_one_that_serves_in_an_epoch_that_is_over) {
  start(consistency_kind::async);
  check.served(2, job, 5, table, chunk);
  check.served(1, job, 4, table, chunk);
  EXPECT_EQ(broken(), "epochs rise");
}

// One that has restored a chunk hands it on before the one that serves it has.
TEST_F(checker_test, lets_a_replica_hand_on_what_it_has_restored) {
  start(consistency_kind::bsp);
  for (const std::uint32_t rank : {0u, 1u, 2u}) push(rank, 0);
  apply({{0, 0}, {1, 0}, {2, 0}});
  check.begin_epoch(2);
  check.handed(job, table, chunk, parameters);
  check.restore_chunk(job, table, "t", chunk, std::vector<policies::rank_progress>(3, {1}),
                      served_values(parameters));
  check.handed(job, table, chunk, parameters);
  EXPECT_EQ(broken(), "");
}

TEST_F(checker_test, sees_a_replica_that_was_handed_what_its_primary_does_not_restore) {
  start(consistency_kind::bsp);
  const auto older = parameters;
  for (const std::uint32_t rank : {0u, 1u, 2u}) push(rank, 0);
  apply({{0, 0}, {1, 0}, {2, 0}});
  check.begin_epoch(2);
  check.handed(job, table, chunk, older);
  EXPECT_EQ(broken(), "") << "the one that serves it has yet to begin";
  check.restore_chunk(job, table, "t", chunk, std::vector<policies::rank_progress>(3, {1}),
                      served_values(parameters));
  EXPECT_EQ(broken(), "same bits");
}

TEST_F(checker_test, sees_a_replica_that_was_handed_other_first_values) {
  check.handed(job, table, chunk, std::vector<float>(2, 11.0F));
  start(consistency_kind::bsp);
  EXPECT_EQ(broken(), "same bits");
}

TEST_F(checker_test, sees_a_replica_that_was_handed_what_never_was) {
  start(consistency_kind::bsp);
  check.handed(job, table, chunk, std::vector<float>(2, 11.0F));
  EXPECT_EQ(broken(), "same bits");
}

// A push of a row that is not admitted changes no value: who has it and who has not are told
// apart by what they have counted.
TEST(chunk_history, knows_versions_of_equal_values_by_what_was_counted) {
  const policies::rows_spec spec{
      .dim = row_dim, .capacity = 4, .lifetime = {.admit_count = 2, .candidates = 4}};
  chunk_history history;
  history.parameters.assign(floats_per_part, 0.5F);
  history.state1 = history.state2 = std::vector<float>(floats_per_part);
  history.rows = row_model(spec, 1, {2, 3, 5, 7}, history.parameters);
  history.note_version();
  std::vector<std::vector<float>> gradients(1, std::vector<float>(floats_per_part));
  runtime::kernels::fill_with_gaps(std::span(gradients[0]).subspan(row_dim));
  history.rows->begin_step(1, gradients, {history.parameters, history.state1, history.state2});
  history.note_version();
  served_values values(history.parameters);
  EXPECT_TRUE(history.versions[0].has(values));
  EXPECT_TRUE(history.versions[1].has(values));
  values.uses = history.rows->uses();
  EXPECT_TRUE(values.uses->candidates[0].exists);
  EXPECT_FALSE(history.versions[0].has(values));
  EXPECT_TRUE(history.versions[1].has(values));
}

}  // namespace
}  // namespace tidegate::sim
