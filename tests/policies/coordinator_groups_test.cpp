// Groups of replicas under a coordinator that dies: who leads whom is as it was, and who died
// while nobody watched is replaced.
#include "tests/policies/coordinator_journal_fixture.hpp"

namespace tidegate::policies {
namespace {

class journal_with_replicas : public coordinator_journal_test {
 protected:
  journal_with_replicas() {
    spec.replicas = 1;
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
      for (std::uint32_t number = 0; number < 2; ++number) join(shard, number);
  }
  template <class T>
  std::vector<std::pair<std::uint32_t, T>> calls_of(std::uint32_t shard) const {
    std::vector<std::pair<std::uint32_t, T>> found;
    for (const auto& call : out.calls)
      if (const auto* what = std::get_if<T>(&call.what); what && call.shard == shard)
        found.emplace_back(call.member, *what);
    return found;
  }
};

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
  const auto leads = calls_of<lead_call>(0);
  ASSERT_EQ(leads.size(), 1u);
  EXPECT_EQ(leads[0].first, 1u);
  EXPECT_EQ(leads[0].second.address, "s002");
  EXPECT_EQ(leads[0].second.view, 2u);
  EXPECT_TRUE(calls_of<promote_call>(1).empty());
  core->moves_of("a", 0, out);
  EXPECT_TRUE(out.moves.empty()) << "it has not heard that it serves";
  answer_calls();
  ASSERT_EQ(out.moves.size(), 1u);
  EXPECT_EQ(out.moves[0].what.address, "s011");
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

TEST_F(journal_with_replicas, a_group_that_cannot_be_is_told_so) {
  join_all();
  keep();
  const auto with = [&](const recorded_group& group) {
    auto changed = journal;
    const auto made = encode(group);
    changed[made.key] = made.value;
    std::vector<runtime::journal_entry> all;
    for (const auto& [k, v] : changed) all.push_back({k, v});
    return decode_journal(spec, all).has_value();
  };
  shard_group::state state;
  state.incarnations = {1, 1};
  EXPECT_TRUE(with({1, state}));
  EXPECT_FALSE(with({2, state})) << "no such shard";
  state.serving_view = 1;
  EXPECT_FALSE(with({1, state})) << "later than the view";
  state = {{1, 0}, 0, 0, 0, false, false, false};
  EXPECT_FALSE(with({1, state})) << "one has never joined";
  spec.replicas = 0;
  EXPECT_FALSE(decode_journal(spec, entries()));
}

}  // namespace
}  // namespace tidegate::policies
