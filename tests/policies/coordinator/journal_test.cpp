// A coordinator that is killed at any moment and goes on with its journal: what was told stays
// so, what was asked is asked again, and a journal that is wrong is told so.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "policies/checkpoint/optimizer_record.hpp"
#include "policies/supervision/retry_backoff.hpp"
#include "runtime/base/limits.hpp"
#include "tests/policies/coordinator/journal_fixture.hpp"

namespace tidegate::policies {
namespace {

using runtime::errc;
using runtime::journal_entry;

class journal_with_checkpoints : public coordinator_journal_test {
 protected:
  journal_with_checkpoints() : coordinator_journal_test(true) {}
};

TEST_F(coordinator_journal_test, tables_have_the_same_ids_and_places) {
  join_shards();
  answer_calls();
  core->open_table(a_table("b", "late", 33), 10, out);
  core->open_table(a_table("a", "later", 70), 11, out);
  answer_calls();
  const auto of_a = grants("a");
  const auto of_b = grants("b");
  ASSERT_EQ(of_b.size(), 2u);
  die();
  EXPECT_TRUE(grants("b").empty()) << "no shard has come back";
  EXPECT_EQ(core->may_tell_tables("b").code(), errc::unavailable);
  join_shards();
  EXPECT_EQ(open_calls(0), 4u) << "every table is asked for again";
  answer_calls();
  EXPECT_TRUE(core->may_tell_tables("b").ok());
  for (const auto& [name, grant] : of_b) {
    EXPECT_EQ(grants("b")[name].table, grant.table);
    EXPECT_EQ(grants("b")[name].places, grant.places);
  }
  EXPECT_EQ(grants("a").size(), of_a.size());
}

TEST_F(coordinator_journal_test, a_table_that_was_asked_for_when_it_died_is_made_once) {
  join_shards();
  answer_calls();
  core->open_table(a_table("a", "x", 33), 10, out);
  die();  // the shards may have it
  core->open_table(a_table("a", "x", 33), 11, out);
  EXPECT_EQ(answer_to(11).result.code(), errc::unavailable) << "to be asked again";
  core->open_table(a_table("a", "y", 33), 12, out);
  EXPECT_EQ(answer_to(12).result.code(), errc::unavailable);
  join_shards();
  answer_calls();
  out.answers.clear();
  core->open_table(a_table("a", "x", 33), 13, out);
  EXPECT_EQ(std::get<table_grant>(answer_to(13).value).table, 2u);
  EXPECT_TRUE(out.calls.empty());
}

TEST_F(coordinator_journal_test, a_worker_that_has_not_heard_asks_again) {
  join_shards();
  answer_calls();
  core->worker_joined(1, {.job = "a", .rank = 0, .incarnation = 1, .address = "w"}, 10, out);
  die();
  core->worker_joined(1, {.job = "a", .rank = 0, .incarnation = 1, .address = "w"}, 11, out);
  EXPECT_TRUE(out.answers.empty()) << "until the shards are back";
  join_shards();
  answer_calls();
  EXPECT_TRUE(answer_to(11).result.ok());
  EXPECT_EQ(core->status(1, 0).jobs[0].restarts, 0u);
  core->worker_joined(1, {.job = "a", .rank = 0, .incarnation = 1, .address = "another"}, 12,
                      out);
  EXPECT_EQ(answer_to(12).result.code(), errc::already_exists);
}

TEST_F(coordinator_journal_test, an_earlier_process_of_a_rank_stays_refused) {
  join_shards();
  answer_calls();
  join_worker("a", 0);
  join_worker("a", 0, 2);
  EXPECT_EQ(core->status(1, 0).jobs[0].restarts, 1u);
  die();
  join_shards();
  answer_calls();
  EXPECT_EQ(core->status(1, 0).jobs[0].restarts, 1u);
  core->worker_joined(1, {.job = "a", .rank = 0, .incarnation = 1, .address = "w"}, 11, out);
  EXPECT_EQ(answer_to(11).result.code(), errc::already_exists);
}

TEST_F(coordinator_journal_test, one_that_comes_back_is_asked_about_the_tables_it_has_opened) {
  join_shards();
  answer_calls();
  join_worker("b", 1);
  core->tables_opened(1, "b", 1, {1}, out);
  die();
  join_shards();
  answer_calls();
  core->worker_joined(1, {.job = "b", .rank = 1, .incarnation = 2, .address = "w"}, 10, out);
  ASSERT_FALSE(out.calls.empty());
  EXPECT_EQ(std::get<admit_worker_call>(out.calls[0].message).tables,
            std::vector<std::uint32_t>{1});
  out.answers.clear();
  answer_calls(17);
  EXPECT_EQ(std::get<worker_welcome>(answer_to(10).value).first_clock, 17u);
}

TEST_F(coordinator_journal_test, a_job_ends_once_whenever_it_dies) {
  join_shards();
  answer_calls();
  for (const auto rank : {0U, 1U}) join_worker("a", rank);
  core->tables_opened(1, "a", 0, {0}, out);
  ASSERT_TRUE(core->metric("a", "loss", std::nan(""), out).ok());
  worker_progress last;
  last.clock = 7;
  core->worker_finished(5, "a", 0, last, "abc", out);
  die();
  core->worker_finished(6, "a", 0, last, "abc", out);  // it has not heard
  core->worker_finished(7, "a", 1, last, "", out);
  EXPECT_EQ(core->status(8, 0).jobs[0].state, job_state::done) << "no shard is needed for it";
  die();
  const auto job = core->status(9, 0).jobs[0];
  EXPECT_EQ(job.state, job_state::done);
  EXPECT_EQ(job.parameters_sha256, "abc");
  EXPECT_EQ(job.ranks_finished.size(), 2u);
  EXPECT_EQ(job.clock_slowest, 7u);
  EXPECT_TRUE(std::isnan(job.metrics.at("loss")));
  EXPECT_EQ(core->status(9, 0).jobs[1].state, job_state::waiting);
  EXPECT_EQ(core->status(9, 0).incarnation, 3u);
}

TEST_F(coordinator_journal_test, a_failed_job_is_closed_at_shards_that_come_back) {
  join_shards();
  answer_calls();
  const std::string why = "gr\xfc\xdf dich \xff\x00 \"x\"";
  core->fail_job(3, "a", why, out);
  die();
  EXPECT_EQ(core->status(4, 0).jobs[0].failure, why);
  join_shards();
  std::size_t closed = 0;
  for (const auto& call : out.calls)
    closed += std::holds_alternative<close_job_call>(call.message) ? 1 : 0;
  EXPECT_EQ(closed, 2u);
}

TEST_F(coordinator_journal_test, workers_that_open_other_tables_are_told_apart_after_it) {
  join_shards();
  answer_calls();
  core->open_table(a_table("a", "x", 3), 10, out);
  answer_calls();
  core->tables_opened(1, "a", 0, {0, 2}, out);
  die();
  core->tables_opened(1, "a", 1, {0}, out);
  EXPECT_EQ(core->status(1, 0).jobs[0].state, job_state::failed);
}

TEST_F(journal_with_checkpoints, a_round_waits_for_the_shards_and_has_a_new_number) {
  join_shards();
  answer_calls();
  for (const auto rank : {0U, 1U}) {
    join_worker("a", rank);
    core->tables_opened(1, "a", rank, {0}, out);
  }
  worker_progress at;
  at.clock = 1;
  core->progress(1, "a", 0, at, out);
  ASSERT_EQ(out.checkpoints.size(), 1u);
  core->checkpoint_begun(1, "a", {1, 5}, out);
  die();
  EXPECT_EQ(core->last_checkpoint("a"), (checkpoint_id{1, 5}));
  core->progress(2, "a", 0, at, out);
  EXPECT_TRUE(out.checkpoints.empty()) << "a shard that is not back cannot be asked";
  for (const auto rank : {0U, 1U}) core->worker_finished(2, "a", rank, at, "", out);
  EXPECT_TRUE(out.checkpoints.empty());
  EXPECT_EQ(core->status(2, 0).jobs[0].state, job_state::running);
  join_shards();
  EXPECT_EQ(out.checkpoints.size(), 1u) << "the last one";
  die();  // all have finished, and the job is not done
  join_shards();
  EXPECT_EQ(out.checkpoints.size(), 1u);
}

TEST_F(coordinator_journal_test, what_the_run_went_on_from_stays) {
  auto optimizer = default_optimizer(optimizer_kind::adam);
  optimizer.clip_value = 0.3F;
  optimizer.schedule = {
      .kind = runtime::schedule_kind::step, .warmup = 3, .clocks = 100, .factor = 0.1F};
  optimizer.lazy = true;
  optimizer.l1 = 0.7F;
  optimizer.l2 = 0.2F;
  optimizer.beta = 0.4F;
  optimizer.l21 = 0.9F;
  auto of_columns = default_optimizer(optimizer_kind::ftrl);
  of_columns.l1 = 0.1F;
  restored_cluster from;
  from.epoch = 3;
  from.jobs["a"] = {.id = {2, 9},
                    .clock = 40,
                    .tables = {{.name = "w", .shape = {40}, .optimizer = optimizer},
                               {.name = "user",
                                .shape = {7},
                                .optimizer = optimizer,
                                .rows = {.dim = 4,
                                         .capacity = 90,
                                         .lifetime = {.admit_count = 3,
                                                      .candidates = 50,
                                                      .unseen = 20,
                                                      .rows = 90,
                                                      .by = runtime::eviction_order::l2},
                                         .segments = {{.columns = 1, .optimizer = of_columns},
                                                      {.columns = 3,
                                                       .optimizer = of_columns,
                                                       .init = {init_kind::constant, -0.1F}}},
                                         .memory = 5'000'000}}}};
  core = std::make_unique<coordinator_core>(spec, 99, from);
  out = {};
  core->begin(1, out);
  journal.clear();
  keep();
  const auto before = decode_journal(spec, entries());
  ASSERT_TRUE(before);
  ASSERT_TRUE(before->run);
  EXPECT_EQ(before->run->from, from);
}

// How much is in memory is no matter of bits: a checkpoint may come from another machine.
TEST_F(coordinator_journal_test, has_tables_that_are_restored_with_the_memory_of_today) {
  auto optimizer = default_optimizer(optimizer_kind::adagrad);
  auto& declared = spec.jobs[0].tables[0];
  declared = {.name = "user",
              .shape = {7},
              .optimizer = optimizer,
              .init = {},
              .rows = {.dim = 4, .capacity = 90, .memory = 1U << 20U}};
  restored_cluster from;
  from.epoch = 3;
  from.jobs["a"] = {.id = {2, 9},
                    .clock = 40,
                    .tables = {{.name = "user",
                                .shape = {7},
                                .optimizer = optimizer,
                                .rows = {.dim = 4, .capacity = 90, .memory = 9U << 20U}},
                               {.name = "item",
                                .shape = {7},
                                .optimizer = optimizer,
                                .rows = {.dim = 4, .capacity = 90, .memory = 5U << 20U}}}};
  core = std::make_unique<coordinator_core>(spec, 99, from);
  out = {};
  core->begin(1, out);
  join_shards();
  std::map<std::string, std::uint64_t> memory;
  while (!out.calls.empty())
    for (const auto& call : std::exchange(out.calls, {})) {
      if (const auto* open = std::get_if<open_table_call>(&call.message))
        memory[open->name] = open->rows.memory;
      core->call_done(1, call.call, {}, out, 0);
    }
  EXPECT_EQ(memory.at("user"), 1U << 20U);
  EXPECT_EQ(memory.at("item"), 5U << 20U) << "nobody says otherwise";
  // Whoever attaches to it with another one is not refused for that.
  auto request = a_table("a", "item", 7);
  request.options_given = true;
  request.spec.rows = {.dim = 4, .capacity = 90, .memory = 2U << 20U};
  core->open_table(request, 5, out);
  EXPECT_TRUE(answer_to(5).result.ok()) << answer_to(5).result.message();
  request.spec.rows.capacity = 91;
  core->open_table(request, 6, out);
  EXPECT_EQ(answer_to(6).result.code(), runtime::errc::invalid_argument);
}

TEST_F(coordinator_journal_test, a_journal_that_is_wrong_is_told_so) {
  join_shards();
  answer_calls();
  join_worker("a", 1);
  core->tables_opened(1, "a", 1, {0}, out);
  keep();
  ASSERT_TRUE(decode_journal(spec, entries()));
  const auto refused = [&](const std::string& key, const std::string& value) {
    auto changed = journal;
    if (value.empty())
      changed.erase(key);
    else
      changed[key] = value;
    std::vector<journal_entry> all;
    for (const auto& [k, v] : changed) all.push_back({k, v});
    const auto decoded = decode_journal(spec, all);
    EXPECT_FALSE(decoded) << key << " = " << value;
    EXPECT_EQ(decoded ? errc::ok : decoded.error().code(), errc::corrupt);
  };
  refused("run", "");
  refused("run", "{");
  refused("tables/00000000", "");
  refused("tables/00000007", journal["tables/00000000"]);
  refused("worker/a/2", journal["worker/a/1"]);
  refused("job/c", encode(recorded_job{.name = "c",
                                       .state = {},
                                       .failure = {},
                                       .began = 0,
                                       .ended = 0,
                                       .parameters_sha256 = {},
                                       .restarts = 0,
                                       .checkpoints = 0,
                                       .checkpoint_clock = 0,
                                       .begun = {},
                                       .wanted = 1,
                                       .changes = {}})
                       .value);
  refused("worker/a/0", encode(recorded_worker{.job = "a",
                                               .rank = 0,
                                               .joined = true,
                                               .finished = false,
                                               .incarnation = 1,
                                               .address = "w",
                                               .invited = false,
                                               .tables = {{1}},
                                               .staleness_max = 0,
                                               .payload_bytes_copied = 0,
                                               .last = {}})
                            .value);
  refused("worker/a/5", encode(recorded_worker{.job = "a",
                                               .rank = 5,
                                               .joined = true,
                                               .finished = false,
                                               .incarnation = 1,
                                               .address = "w",
                                               .invited = false,
                                               .tables = {},
                                               .staleness_max = 0,
                                               .payload_bytes_copied = 0,
                                               .last = {}})
                            .value);
  refused("what/a", "{}");
  auto other = spec;
  other.jobs.pop_back();
  EXPECT_FALSE(decode_journal(other, entries()));
}

TEST(retry_backoff, it_is_asked_until_the_time_is_over) {
  constexpr std::int64_t ms = 1'000'000;
  const runtime::status away(errc::unavailable, "nobody");
  retry_backoff once(0, 0);
  EXPECT_FALSE(once.after(0, away));
  retry_backoff asking(0, 1000);
  EXPECT_FALSE(retry_backoff(asking).after(1, {errc::refused, "no"})) << "an answer";
  EXPECT_FALSE(retry_backoff(asking).after(1, {}));
  std::int64_t now = 0;
  int times = 0;
  for (auto pause = asking.after(now, away); pause; pause = asking.after(now, away)) {
    EXPECT_GE(*pause, 1);
    EXPECT_LE(*pause, 200 * ms);
    now += *pause;
    ++times;
  }
  EXPECT_EQ(now, 1000 * ms);
  EXPECT_LT(times, 12);
}

}  // namespace
}  // namespace tidegate::policies
