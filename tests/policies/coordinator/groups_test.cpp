// Groups of replicas under a coordinator that dies: who leads whom is as it was, and who died
// while nobody watched is replaced.
#include "tests/policies/coordinator/journal_fixture.hpp"

namespace tidegate::policies {
namespace {

class journal_with_replicas : public coordinator_journal_test {
 protected:
  explicit journal_with_replicas(std::uint32_t replicas = 1) {
    spec.replicas = replicas;
    core = std::make_unique<coordinator_core>(spec, 99);
    out = {};
    core->begin(1, out);
  }
  void join(std::uint32_t shard, std::uint32_t number, std::uint32_t incarnation = 1) {
    core->shard_joined(
        1, shard,
        "s" + std::to_string(shard) + std::to_string(number) + std::to_string(incarnation), 1,
        out, {number, incarnation});
  }
  void join_all() {
    for (std::uint32_t shard = 0; shard < 2; ++shard)
      for (std::uint32_t number = 0; number <= spec.replicas; ++number) join(shard, number);
  }
  template <class T>
  std::vector<std::pair<std::uint32_t, T>> calls_of(std::uint32_t shard) const {
    std::vector<std::pair<std::uint32_t, T>> found;
    for (const auto& call : out.calls)
      if (const auto* content = std::get_if<T>(&call.message); content && call.shard == shard)
        found.emplace_back(call.member, *content);
    return found;
  }
};

shard_report report_after(std::uint64_t elapsed_ns) {
  return {.closed = {}, .times = {.elapsed_ns = elapsed_ns}};
}

TEST_F(journal_with_replicas, what_replicas_tell_is_told_of_processes_that_live) {
  join_all();
  answer_calls();
  core->arrivals(2, "s011", report_after(7));
  core->arrivals(2, "s001", report_after(9));
  core->arrivals(2, "nobody", report_after(11));
  auto status = core->status(3, 0);
  ASSERT_EQ(status.replicas.size(), 1U);
  EXPECT_EQ(status.replicas[0].shard, 0U);
  EXPECT_EQ(status.replicas[0].name.to_string(), "replica-0");
  EXPECT_EQ(status.replicas[0].times.elapsed_ns, 7U);
  EXPECT_EQ(status.shards[0].elapsed_ns, 9U);
  EXPECT_NE(status.shards[0].process, status.replicas[0].times.process);
  // Another comes in its place, and has told nothing yet.
  core->shard_lost(4, 0, "killed", out, 1);
  answer_calls();
  join(0, 1, 2);
  answer_calls();
  EXPECT_TRUE(core->status(5, 0).replicas.empty());
  core->arrivals(6, "s012", report_after(3));
  const auto before = core->status(6, 0).replicas.at(0).times.process;
  // It becomes the primary: what it tells is the shard's.
  core->shard_lost(7, 0, "killed", out, 0);
  answer_calls();
  core->arrivals(8, "s012", report_after(4));
  status = core->status(8, 0);
  EXPECT_TRUE(status.replicas.empty());
  EXPECT_EQ(status.shards[0].elapsed_ns, 4U);
  EXPECT_EQ(status.shards[0].process, before);
}

TEST_F(journal_with_replicas, who_leads_whom_is_as_it_was) {
  join_all();
  answer_calls();
  join_worker("a", 0);
  core->shard_lost(2, 0, "killed", out, 0);
  answer_calls();
  join(0, 0, 2);
  answer_calls();
  ASSERT_EQ(core->status(3, 0).replicas_in_sync, 2u);
  die();
  join(0, 0, 2);
  join(0, 1);
  join(1, 0);
  EXPECT_TRUE(out.calls.empty()) << "one is missing";
  join(1, 1);
  const auto promoted = calls_of<promote_call>(0);
  ASSERT_EQ(promoted.size(), 1u);
  EXPECT_EQ(promoted[0].first, 1u);
  EXPECT_EQ(promoted[0].second.view, 1u) << "said again, in case nobody has";
  EXPECT_TRUE(calls_of<promote_call>(1).empty());
  core->moves_of("a", 0, 1, out);
  EXPECT_TRUE(out.moves.empty()) << "it has not heard that it serves";
  for (const auto& call : std::exchange(out.calls, {})) core->call_done(1, call.call, {}, out);
  const auto leads = calls_of<lead_call>(0);
  ASSERT_EQ(leads.size(), 1u) << "when the other knows it";
  EXPECT_EQ(leads[0].first, 1u);
  EXPECT_EQ(leads[0].second.address, "s002");
  EXPECT_EQ(leads[0].second.view, 2u);
  answer_calls();
  ASSERT_EQ(out.moves.size(), 1u);
  EXPECT_EQ(out.moves[0].message.address, "s011");
}

TEST_F(journal_with_replicas, a_primary_that_died_meanwhile_is_replaced) {
  join_all();
  answer_calls();
  die();
  join(0, 1);
  join(1, 0);
  join(1, 1);
  join(0, 0, 2);
  const auto promoted = calls_of<promote_call>(0);
  ASSERT_EQ(promoted.size(), 1u);
  EXPECT_EQ(promoted[0].first, 1u);
  answer_calls();
  EXPECT_EQ(core->status(3, 0).replicas_in_sync, 2u);
}

TEST_F(journal_with_replicas, a_new_replica_is_told_of_workers_that_joined_the_one_before) {
  join_all();
  answer_calls();
  join_worker("a", 1);
  die();
  join_all();
  answer_calls();
  core->shard_lost(2, 0, "killed", out, 1);
  answer_calls();
  join(0, 1, 2);
  std::vector<admit_worker_call> let_in;
  while (!out.calls.empty()) {
    for (const auto& [number, call] : calls_of<admit_worker_call>(0)) {
      EXPECT_EQ(number, 1u);
      let_in.push_back(call);
    }
    for (const auto& call : std::exchange(out.calls, {}))
      core->call_done(1, call.call, {}, out, 0);
  }
  ASSERT_EQ(let_in.size(), 1u);
  EXPECT_EQ(let_in[0].address, "a1");
}

// The others have been asked to wait for it, and the new replica may be the primary before it
// is in.
TEST_F(journal_with_replicas, a_new_replica_hears_of_a_rank_that_is_to_join) {
  for (auto& job : spec.jobs) job.max_workers = 3;
  core = std::make_unique<coordinator_core>(spec, 99);
  out = {};
  core->begin(1, out);
  join_all();
  answer_calls();
  join_worker("a", 0);
  join_worker("a", 1);
  ASSERT_TRUE(core->scale(2, "a", 3, out).ok());
  core->worker_joined(2, {.job = "a", .rank = 2, .incarnation = 1, .address = "a2"}, 60, out);
  const auto asked = calls_of<join_barrier_call>(0);
  ASSERT_EQ(asked.size(), 2u);
  out.calls.clear();  // nobody has answered
  core->shard_lost(2, 0, "killed", out, 1);
  out.calls.clear();
  join(0, 1, 2);
  const auto holds = calls_of<join_barrier_call>(0);
  ASSERT_EQ(holds.size(), 1u);
  EXPECT_EQ(holds[0].first, 1u);
  EXPECT_EQ(holds[0].second.rank, 2u);
  EXPECT_EQ(holds[0].second.clock, asked[0].second.clock);
}

TEST_F(journal_with_replicas, both_died_and_that_stays_known) {
  join_all();
  answer_calls();
  die();
  join(0, 0, 2);
  join(0, 1, 2);
  EXPECT_FALSE(core->status(3, 0).lost.empty());
  die();
  EXPECT_FALSE(core->status(3, 0).lost.empty());
}

class journal_with_chains : public journal_with_replicas {
 protected:
  journal_with_chains() : journal_with_replicas(2) {}

  // Who is told to lead whom ("": nobody) of a shard, by member.
  std::vector<std::pair<std::uint32_t, std::string>> leads(std::uint32_t shard) const {
    std::vector<std::pair<std::uint32_t, std::string>> found;
    for (const auto& [member, call] : calls_of<lead_call>(shard))
      found.emplace_back(member, call.address);
    return found;
  }
};
using pairs = std::vector<std::pair<std::uint32_t, std::string>>;

TEST_F(journal_with_chains, each_leads_the_next) {
  join_all();
  EXPECT_EQ(leads(0), (pairs{{0, "s011"}, {1, "s021"}}));
  answer_calls();
  EXPECT_EQ(core->status(3, 0).replicas_in_sync, 4u);
}

TEST_F(journal_with_chains, the_neighbours_of_one_that_dies_hear_of_each_other) {
  join_all();
  answer_calls();
  core->shard_lost(2, 0, "killed", out, 1);
  const auto follows = calls_of<follow_call>(0);
  ASSERT_EQ(follows.size(), 1u);
  EXPECT_EQ(follows[0].first, 2u);
  EXPECT_EQ(follows[0].second.address, "s001");
  EXPECT_TRUE(leads(0).empty()) << "not before the other knows it";
  for (const auto& call : std::exchange(out.calls, {})) core->call_done(1, call.call, {}, out);
  ASSERT_EQ(leads(0), (pairs{{0, "s021"}}));
  EXPECT_TRUE(calls_of<lead_call>(0)[0].second.has_all);
  answer_calls();
  EXPECT_EQ(core->status(3, 0).replicas_in_sync, 3u);
}

TEST_F(journal_with_chains, the_third_hears_that_it_serves_before_it_is_asked_anything) {
  join_all();
  answer_calls();
  core->shard_lost(2, 0, "killed", out, 0);
  core->worker_joined(2, {.job = "a", .rank = 0, .incarnation = 1, .address = "a0"}, 50, out);
  core->shard_lost(2, 0, "killed", out, 1);  // it was to serve, and has not answered
  std::vector<std::size_t> heard;
  for (const auto& call : out.calls)
    if (call.shard == 0 && call.member == 2) heard.push_back(call.message.index());
  ASSERT_EQ(heard.size(), 1U);
  EXPECT_EQ(heard[0], shard_call(promote_call()).index());
  answer_calls();
  EXPECT_TRUE(answer_to(50).result.ok());
}

TEST_F(journal_with_chains, a_pair_that_is_one_no_more_is_not_told_so) {
  join_all();
  answer_calls();
  core->shard_lost(2, 0, "killed", out, 1);
  const auto calls = std::exchange(out.calls, {});
  core->shard_lost(2, 0, "killed", out, 0);  // it was to lead
  join(0, 0, 2);
  out.calls.clear();
  for (const auto& call : calls) core->call_done(1, call.call, {}, out);
  EXPECT_TRUE(leads(0).empty());
}

TEST_F(journal_with_chains, who_waits_hears_of_nothing_until_it_is_a_replica) {
  join_all();
  answer_calls();
  core->shard_lost(2, 0, "killed", out, 1);
  answer_calls();
  core->shard_lost(2, 0, "killed", out, 2);
  answer_calls();
  join(0, 1, 2);
  const auto setting_up = std::exchange(out.calls, {});
  join(0, 2, 2);
  EXPECT_TRUE(out.calls.empty()) << "one after the other";
  join_worker("a", 0);
  for (const auto& call : calls_of<admit_worker_call>(0)) EXPECT_NE(call.first, 2u);
  answer_calls();
  for (const auto& call : setting_up) core->call_done(1, call.call, {}, out);
  bool let_in = false;
  while (!out.calls.empty()) {
    for (const auto& call : calls_of<admit_worker_call>(0)) let_in |= call.first == 2;
    for (const auto& call : std::exchange(out.calls, {}))
      core->call_done(1, call.call, {}, out);
  }
  EXPECT_TRUE(let_in);
  EXPECT_EQ(core->status(3, 0).replicas_in_sync, 4u);
}

// The next coordinator does not know whether it was told: nobody is let in before it is.
TEST_F(journal_with_chains, a_pair_is_told_again_before_anybody_is_let_in) {
  join_all();
  answer_calls();
  core->shard_lost(2, 0, "killed", out, 1);
  die();
  for (std::uint32_t shard = 0; shard < 2; ++shard)
    for (std::uint32_t number = 0; number < 3; ++number)
      join(shard, number, shard == 0 && number == 1 ? 2 : 1);
  core->worker_joined(1, {.job = "a", .rank = 0, .incarnation = 1, .address = "a0"}, 50, out);
  std::vector<call_id> lead;
  while (!out.calls.empty())
    for (const auto& call : std::exchange(out.calls, {})) {
      EXPECT_FALSE(lead.empty() && std::holds_alternative<admit_worker_call>(call.message));
      const auto* leads = std::get_if<lead_call>(&call.message);
      if (leads && leads->address == "s021" && call.shard == 0 && call.member == 0)
        lead.push_back(call.call);
      core->call_done(1, call.call, {}, out);
    }
  EXPECT_EQ(lead.size(), 1u);
}

TEST_F(journal_with_replicas, a_group_that_cannot_be_is_told_so) {
  join_all();
  keep();
  const auto with = [&](const recorded_group& group) {
    auto changed = journal;
    const auto encoded = encode(group);
    changed[encoded.key] = encoded.value;
    std::vector<runtime::journal_entry> all;
    for (const auto& [k, v] : changed) all.push_back({k, v});
    return decode_journal(spec, all).has_value();
  };
  const replica_chain::state good{.incarnations = {1, 1},
                                  .chain = {{1, 0}, {0, 0}},
                                  .view = 0,
                                  .serving_view = 0,
                                  .in_sync = true};
  EXPECT_TRUE(with({1, good}));
  EXPECT_FALSE(with({2, good})) << "no such shard";
  auto state = good;
  state.serving_view = 1;
  EXPECT_FALSE(with({1, state})) << "later than the view";
  state = good;
  state.chain[0].view = 1;
  EXPECT_FALSE(with({1, state})) << "a pair that is later than the view";
  state = good;
  state.chain[0].member = 0;
  EXPECT_FALSE(with({1, state})) << "twice in the chain";
  state = good;
  state.chain[0].member = 2;
  EXPECT_FALSE(with({1, state})) << "no such process";
  state = good;
  state.incarnations = {1, 0};
  EXPECT_FALSE(with({1, state})) << "one has never joined";
  state.incarnations = {1, 1, 1};
  EXPECT_FALSE(with({1, state})) << "more than there are";
  EXPECT_TRUE(with({1, {{1, 1}, {}, 3, 2, false}})) << "it was lost";
  EXPECT_FALSE(with({1, {{1, 1}, {}, 3, 2, true}})) << "nobody has everything";
  EXPECT_FALSE(with({1, {{1, 1}, {{0, 0}}, 3, 2, false}})) << "a primary that has not";
  spec.replicas = 0;
  EXPECT_FALSE(decode_journal(spec, entries()));
}

}  // namespace
}  // namespace tidegate::policies
