// Workers that leave their job for good while the others go on.
#include "tests/policies/coordinator/journal_fixture.hpp"

namespace tidegate::policies {
namespace {

using runtime::errc;

class workers_that_leave : public coordinator_journal_test {
 protected:
  workers_that_leave() { begin(3); }
  void begin(std::uint32_t workers, std::uint32_t replicas = 0) {
    for (auto& job : spec.jobs) {
      job.workers = workers;
      job.on_worker_loss = worker_loss_rule::shrink;
    }
    spec.replicas = replicas;
    core = std::make_unique<coordinator_core>(spec, 99);
    out = {};
    core->begin(1, out);
    keep();
  }
  template <class T>
  std::vector<T> calls() const {
    std::vector<T> found;
    for (const auto& call : out.calls)
      if (const auto* content = std::get_if<T>(&call.message)) found.push_back(*content);
    return found;
  }
  void run(std::uint32_t workers = 3) {
    join_shards();
    answer_calls();
    for (std::uint32_t rank = 0; rank < workers; ++rank) join_worker("a", rank);
    keep();
    out = {};
  }
  // Each shard says another clock.
  void answer(const std::vector<std::uint64_t>& clocks) {
    std::size_t at = 0;
    for (const auto& call : std::exchange(out.calls, {}))
      core->call_done(1, call.call, {}, out, clocks[at++ % clocks.size()]);
  }
  job_status status_of(const std::string& name) {
    for (const auto& entry : core->status(1, 0).jobs)
      if (entry.name == name) return entry;
    return {};
  }
};

TEST_F(workers_that_leave, from_the_clock_that_the_furthest_chunk_lacks) {
  run();
  core->worker_leaves(3, "a", 1, 70, out);
  const auto asked = calls<shut_out_call>();
  ASSERT_EQ(asked.size(), 2U) << "both shards";
  EXPECT_EQ(asked[0].rank, 1U);
  EXPECT_TRUE(out.answers.empty());
  answer({4, 5});
  ASSERT_EQ(out.records.size(), 2U) << "before anybody hears of it";
  const auto& changes = std::get<recorded_job>(out.records[0]).changes;
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].clock, 5U);
  const auto announced = calls<membership_call>();
  ASSERT_EQ(announced.size(), 2U);
  EXPECT_EQ(announced[0].change.clock, 5U);
  EXPECT_TRUE(announced[0].change.pushes_here);
  EXPECT_TRUE(out.answers.empty()) << "not all know";
  answer_calls();
  EXPECT_TRUE(answer_to(70).result.ok());
  const auto events = core->status(3, 0).events;
  EXPECT_EQ(events.back().detail, "a rank 1: 2 workers go on from clock 5");
  EXPECT_EQ(ranks_left(status_of("a").changes), std::vector<std::uint32_t>{1});
  out = {};
  core->worker_joined(4, {.job = "a", .rank = 1, .incarnation = 2, .address = "back"}, 71, out);
  EXPECT_EQ(answer_to(71).result.code(), errc::refused);
  core->worker_leaves(4, "a", 1, 72, out);
  EXPECT_TRUE(answer_to(72).result.ok()) << "asked again";
}

TEST_F(workers_that_leave, the_last_one_does_not) {
  run();
  core->worker_leaves(3, "a", 0, 70, out);
  core->worker_leaves(3, "a", 1, 71, out);
  core->worker_leaves(3, "a", 2, 72, out);
  EXPECT_EQ(answer_to(72).result.code(), errc::refused);
  answer_calls();
  EXPECT_TRUE(answer_to(70).result.ok());
  EXPECT_TRUE(answer_to(71).result.ok());
  core->worker_leaves(3, "a", 7, 73, out);
  EXPECT_EQ(answer_to(73).result.code(), errc::not_found);
}

TEST_F(workers_that_leave, the_job_is_done_when_the_others_are_and_the_first_of_them_hashes) {
  run();
  core->worker_leaves(3, "a", 0, 70, out);
  EXPECT_TRUE(core->is_to_hash("a", 1)) << "as soon as it is known that rank 0 will not";
  EXPECT_FALSE(core->is_to_hash("a", 2));
  answer_calls();
  core->worker_finished(4, "a", 2, {}, "", out);
  core->worker_finished(4, "a", 1, {}, "digest", out);
  EXPECT_EQ(status_of("a").state, job_state::done);
  EXPECT_EQ(status_of("a").parameters_sha256, "digest");
}

TEST_F(workers_that_leave, a_job_whose_others_have_finished_meanwhile_ends) {
  run(3);
  core->worker_leaves(3, "a", 2, 70, out);
  core->worker_finished(4, "a", 0, {}, "digest", out);
  core->worker_finished(4, "a", 1, {}, "", out);
  EXPECT_EQ(status_of("a").state, job_state::running);
  answer_calls();
  EXPECT_TRUE(answer_to(70).result.ok());
  EXPECT_EQ(status_of("a").state, job_state::done);
}

TEST_F(workers_that_leave, the_next_coordinator_says_it_again) {
  run();
  core->worker_leaves(3, "a", 1, 70, out);
  answer({4, 5});
  die();
  join_shards();
  const auto changes = calls<membership_call>();
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes[0].change.rank, 1U);
  EXPECT_EQ(changes[0].change.clock, 5U);
  answer_calls();
  core->worker_leaves(5, "a", 1, 73, out);
  EXPECT_TRUE(answer_to(73).result.ok());
}

TEST_F(workers_that_leave, one_that_was_not_recorded_is_asked_for_again) {
  run();
  core->worker_leaves(3, "a", 1, 70, out);
  die();
  join_shards();
  EXPECT_TRUE(calls<membership_call>().empty());
  answer_calls();
  core->worker_leaves(5, "a", 1, 73, out);
  EXPECT_EQ(calls<shut_out_call>().size(), 2U);
}

TEST_F(workers_that_leave, one_asked_for_before_the_tables_are_back_is_let_go) {
  run();
  core->open_table(a_table("a", "late", 33), 10, out);
  answer_calls();
  die();
  join_shards();
  core->worker_leaves(5, "a", 1, 73, out);
  EXPECT_TRUE(calls<shut_out_call>().empty()) << "what shards have of it is not known yet";
  answer_calls();
  EXPECT_TRUE(answer_to(73).result.ok());
  EXPECT_EQ(ranks_left(status_of("a").changes), std::vector<std::uint32_t>{1});
}

TEST_F(workers_that_leave, a_primary_that_dies_first_is_not_waited_for) {
  begin(3, 1);
  for (std::uint32_t shard = 0; shard < 2; ++shard)
    for (std::uint32_t number = 0; number < 2; ++number)
      core->shard_joined(1, shard, "s" + std::to_string(shard) + std::to_string(number), 1, out,
                         {number, 1});
  answer_calls();
  for (std::uint32_t rank = 0; rank < 3; ++rank) join_worker("a", rank);
  out = {};
  core->worker_leaves(3, "a", 1, 70, out);
  const auto asked = calls<shut_out_call>();
  ASSERT_EQ(asked.size(), 4U);
  core->shard_lost(3, 0, "killed", out, 0);
  for (int round = 0; round < 20 && !out.calls.empty(); ++round) answer({6});
  EXPECT_TRUE(answer_to(70).result.ok());
  EXPECT_EQ(ranks_left(status_of("a").changes), std::vector<std::uint32_t>{1});
}

TEST_F(workers_that_leave, a_journal_in_which_nobody_stayed_is_refused) {
  run();
  keep();
  const auto refused = [&](std::vector<membership_change> changes) {
    recorded_job record;
    record.name = "a";
    record.wanted = 3;
    record.changes = std::move(changes);
    const auto entry = encode(coordinator_record(record));
    journal[entry.key] = entry.value;
    const auto found = decode_journal(spec, entries());
    return !found && found.error().code() == errc::corrupt;
  };
  EXPECT_FALSE(refused({{1, 0, 3}, {2, 1, 3}}));
  EXPECT_TRUE(refused({{1, 0, 3}, {2, 1, 3}, {3, 2, 3}})) << "nobody stays";
  EXPECT_TRUE(refused({{2, 0, 3}})) << "one is missing";
  EXPECT_TRUE(refused({{1, 3, 3}})) << "no such rank";
  EXPECT_TRUE(refused({{1, 0, 3, true}})) << "it is there";
}

class workers_that_join : public workers_that_leave {
 protected:
  workers_that_join() {
    for (auto& job : spec.jobs) job.max_workers = 5;
    begin(3);
    run();
  }
};

TEST_F(workers_that_join, at_a_clock_that_nobody_has_come_to) {
  core->worker_joined(2, {.job = "a", .rank = 3, .incarnation = 1, .address = "new"}, 60, out);
  EXPECT_EQ(answer_to(60).result.code(), errc::refused) << "not wanted";
  EXPECT_EQ(core->scale(2, "a", 6, out).code(), errc::over_limit);
  EXPECT_EQ(core->scale(2, "x", 4, out).code(), errc::not_found);
  ASSERT_TRUE(core->scale(2, "a", 4, out).ok());
  core->progress(2, "a", 1, {.clock = 10}, out);
  core->worker_joined(3, {.job = "a", .rank = 3, .incarnation = 1, .address = "new"}, 61, out);
  auto asked = calls<join_barrier_call>();
  ASSERT_EQ(asked.size(), 2U);
  EXPECT_EQ(asked[0].rank, 3U);
  EXPECT_EQ(asked[0].clock, 12U);
  answer({0, 14});
  asked = calls<join_barrier_call>();
  ASSERT_EQ(asked.size(), 2U) << "one shard is beyond";
  EXPECT_GT(asked[0].clock, 14U);
  keep();
  answer({0});
  EXPECT_EQ(std::get<recorded_job>(out.records[0]).changes.size(), 1U);
  const auto changes = calls<membership_call>();
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_TRUE(changes[0].change.joins);
  EXPECT_EQ(changes[0].change.clock, asked[0].clock);
  answer({0});
  EXPECT_EQ(calls<admit_worker_call>().size(), 2U) << "now like any";
  answer({clock_vector::infinity});
  EXPECT_EQ(std::get<worker_welcome>(answer_to(61).value).first_clock, asked[0].clock);
  EXPECT_EQ(core->status(3, 0).events.back().subject, "worker_added");
  EXPECT_EQ(status_of("a").workers, 4U);
}

TEST_F(workers_that_join, one_that_is_not_wanted_any_more_is_sent_away_and_nobody_waits) {
  ASSERT_TRUE(core->scale(2, "a", 4, out).ok());
  core->worker_joined(3, {.job = "a", .rank = 3, .incarnation = 1, .address = "new"}, 61, out);
  ASSERT_TRUE(core->scale(4, "a", 3, out).ok());
  answer({0});
  EXPECT_EQ(answer_to(61).result.code(), errc::cancelled);
  const auto asked = calls<join_barrier_call>();
  ASSERT_EQ(asked.size(), 2U);
  EXPECT_EQ(asked[0].clock, clock_vector::infinity) << "let go of";
}

// The word that it is let go of may be lost with a connection.
TEST_F(workers_that_join, a_clock_is_held_until_every_shard_has_let_go_of_it) {
  ASSERT_TRUE(core->scale(2, "a", 4, out).ok());
  core->worker_joined(3, {.job = "a", .rank = 3, .incarnation = 1, .address = "new"}, 61, out);
  ASSERT_TRUE(core->scale(4, "a", 3, out).ok());
  answer({0});
  for (const auto& call : std::exchange(out.calls, {}))
    if (call.shard == 1) core->call_done(5, call.call, {}, out, 0);
  ASSERT_TRUE(core->scale(6, "a", 4, out).ok());
  core->worker_joined(6, {.job = "a", .rank = 3, .incarnation = 2, .address = "next"}, 62, out);
  EXPECT_TRUE(out.calls.empty()) << "the next one waits";
  core->shard_joined(7, 0, "s0", 3, out);
  auto asked = calls<join_barrier_call>();
  ASSERT_EQ(asked.size(), 1U) << "a new connection, the same word";
  EXPECT_EQ(asked[0].clock, clock_vector::infinity);
  answer({0});
  asked = calls<join_barrier_call>();
  ASSERT_EQ(asked.size(), 2U);
  EXPECT_NE(asked[0].clock, clock_vector::infinity) << "now the next one";
}

TEST_F(workers_that_join, the_next_coordinator_lets_go_of_what_was_held) {
  ASSERT_TRUE(core->scale(2, "a", 4, out).ok());
  core->worker_joined(3, {.job = "a", .rank = 3, .incarnation = 1, .address = "new"}, 61, out);
  die();
  join_shards();
  const auto asked = calls<join_barrier_call>();
  ASSERT_EQ(asked.size(), 4U) << "both jobs, both shards";
  EXPECT_EQ(asked[0].clock, clock_vector::infinity);
  answer_calls();
  core->worker_joined(5, {.job = "a", .rank = 3, .incarnation = 1, .address = "new"}, 62, out);
  EXPECT_EQ(calls<join_barrier_call>().size(), 2U) << "it is still invited";
}

TEST_F(workers_that_join, one_that_left_may_come_back_when_it_is_wanted) {
  core->worker_leaves(3, "a", 1, 70, out);
  answer_calls();
  ASSERT_TRUE(core->scale(4, "a", 3, out).ok());
  out = {};
  core->worker_joined(5, {.job = "a", .rank = 1, .incarnation = 2, .address = "back"}, 71, out);
  EXPECT_EQ(calls<join_barrier_call>().size(), 2U);
  answer_calls();
  EXPECT_TRUE(answer_to(71).result.ok());
  EXPECT_TRUE(ranks_left(status_of("a").changes).empty());
}

// Else a clock before would be over one more than have pushed it.
TEST_F(workers_that_join, one_that_left_comes_back_no_sooner_than_the_others_do_without_it) {
  core->progress(2, "a", 0, {.clock = 3}, out);
  core->worker_leaves(3, "a", 1, 70, out);
  answer({20});
  answer_calls();
  const auto left = status_of("a").changes.back().clock;
  ASSERT_EQ(left, 20U);
  ASSERT_TRUE(core->scale(4, "a", 3, out).ok());
  out = {};
  core->worker_joined(5, {.job = "a", .rank = 1, .incarnation = 2, .address = "back"}, 71, out);
  const auto asked = calls<join_barrier_call>();
  ASSERT_EQ(asked.size(), 2U);
  EXPECT_GE(asked[0].clock, left);
}

}  // namespace
}  // namespace tidegate::policies
