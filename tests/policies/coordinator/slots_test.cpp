// Shards that move between processes, as the coordinator has it.
#include <algorithm>

#include "tests/policies/coordinator/journal_fixture.hpp"

namespace tidegate::policies {
namespace {

class slots_test : public coordinator_journal_test {
 protected:
  // Four shards in two slots.
  slots_test() {
    spec.shards = 4;
    spec.slots = 2;
    core = std::make_unique<coordinator_core>(spec, 99);
    out = {};
    core->begin(1, out);
  }
  void host(std::uint32_t slot, std::uint32_t incarnation = 1,
            std::vector<hosted_member> has = {}) {
    core->host_joined(1, {slot, 0}, incarnation, has, 7, out);
  }
  // Those that processes are asked to have join; what is asked of them is answered.
  void carry_out() {
    while (!out.hosts.empty() || !out.calls.empty()) {
      for (const auto& entry : std::exchange(out.hosts, {}))
        for (const auto& member : entry.message.members) {
          hosted.emplace_back(entry.process.slot, member);
          join(member);
        }
      answer_calls();
    }
  }
  void join(const hosted_member& joining) {
    core->shard_joined(1, joining.shard,
                       std::to_string(joining.shard) + "/" +
                           std::to_string(joining.member.number) + "/" +
                           std::to_string(joining.member.incarnation),
                       1, out, joining.member);
  }
  // Who has been told to leave is gone.
  void retire() {
    for (const auto& entry : std::exchange(out.retirements, {})) {
      const auto at = std::find_if(hosted.rbegin(), hosted.rend(), [&](const auto& member) {
        return member.second.shard == entry.shard &&
               member.second.member.number == entry.member;
      });
      ASSERT_NE(at, hosted.rend());
      core->member_gone(2, at->second, out);
      hosted.erase(std::next(at).base());
    }
  }
  std::vector<std::uint32_t> shards_of(std::uint32_t slot) const {
    std::vector<std::uint32_t> all;
    for (const auto& [where, member] : hosted)
      if (where == slot) all.push_back(member.shard);
    std::sort(all.begin(), all.end());
    return all;
  }
  void begin() {
    host(0);
    host(1);
    carry_out();
    ASSERT_EQ(core->status(1, 0).shards_joined, 4U);
  }
  std::vector<std::pair<std::uint32_t, hosted_member>> hosted;  // by slot
};
using shards = std::vector<std::uint32_t>;

TEST_F(slots_test, processes_are_asked_to_have_the_shards_of_their_slots) {
  begin();
  EXPECT_EQ(shards_of(0), (shards{0, 2}));
  EXPECT_EQ(shards_of(1), (shards{1, 3}));
  EXPECT_TRUE(out.retirements.empty());
}

TEST_F(slots_test, more_of_them_take_shards_over_once_they_have_everything) {
  begin();
  ASSERT_TRUE(core->scale_shards(2, 4, out).ok());
  EXPECT_TRUE(out.hosts.empty()) << "nobody is there";
  host(2);
  host(3);
  carry_out();
  EXPECT_EQ(out.retirements.size(), 2U);
  retire();
  carry_out();
  for (std::uint32_t slot = 0; slot < 4; ++slot) EXPECT_EQ(shards_of(slot).size(), 1U);
  const auto events = core->status(3, 0).events;
  EXPECT_EQ(std::count_if(events.begin(), events.end(),
                          [](const auto& entry) { return entry.subject == "shard_moved"; }),
            2);
}

TEST_F(slots_test, fewer_hand_theirs_over_and_those_that_have_none_end) {
  begin();
  ASSERT_TRUE(core->scale_shards(2, 1, out).ok());
  carry_out();
  EXPECT_TRUE(out.idle.empty());
  retire();
  carry_out();
  EXPECT_EQ(shards_of(0), (shards{0, 1, 2, 3}));
  ASSERT_EQ(out.idle.size(), 1U);
  EXPECT_EQ(out.idle[0].slot, 1U);
  core->host_lost({1, 0}, 1);
  out.idle.clear();
  ASSERT_TRUE(core->scale_shards(3, 2, out).ok());
  host(1, 2);
  carry_out();
  retire();
  carry_out();
  EXPECT_EQ(shards_of(1).size(), 2U) << "in its next life";
}

TEST_F(slots_test, what_is_refused) {
  EXPECT_EQ(core->scale_shards(1, 2, out).code(), runtime::errc::unavailable);
  begin();
  EXPECT_EQ(core->scale_shards(1, 0, out).code(), runtime::errc::over_limit);
  EXPECT_EQ(core->scale_shards(1, 5, out).code(), runtime::errc::over_limit);
  EXPECT_FALSE(core->host_joined(1, {4, 0}, 1, {}, 8, out));
  EXPECT_EQ(answer_to(8).result.code(), runtime::errc::invalid_argument);
  core->host_lost({1, 0}, 1);
  EXPECT_FALSE(core->host_joined(1, {1, 0}, 1, {}, 9, out)) << "it was taken for dead";
  EXPECT_EQ(answer_to(9).result.code(), runtime::errc::already_exists);
  spec.slots = 0;
  core = std::make_unique<coordinator_core>(spec, 99);
  EXPECT_EQ(core->scale_shards(1, 2, out).code(), runtime::errc::refused);
}

TEST_F(slots_test, the_next_coordinator_goes_on_with_a_move) {
  begin();
  ASSERT_TRUE(core->scale_shards(2, 1, out).ok());
  carry_out();
  const auto leaving = out.retirements.size();
  ASSERT_EQ(leaving, 2U);
  die();
  // All are there, and have not heard that they are to leave.
  for (const std::uint32_t slot : {0U, 1U}) {
    std::vector<hosted_member> has;
    for (const auto& [where, member] : hosted)
      if (where == slot) has.push_back(member);
    host(slot, 1, has);
  }
  EXPECT_TRUE(out.hosts.empty()) << "they have them";
  for (const auto& [slot, member] : hosted) join(member);
  carry_out();
  EXPECT_EQ(out.retirements.size(), leaving) << "said again";
  retire();
  carry_out();
  EXPECT_EQ(shards_of(0), (shards{0, 1, 2, 3}));
}

// It ended while there was no coordinator.
TEST_F(slots_test, one_that_its_process_has_no_more_is_not_waited_for) {
  begin();
  ASSERT_TRUE(core->scale_shards(2, 1, out).ok());
  carry_out();
  die();
  std::vector<hosted_member> first;
  for (const auto& [slot, member] : hosted)
    if (slot == 0) first.push_back(member);
  host(0, 1, first);
  for (const auto& member : first) join(member);
  EXPECT_EQ(core->status(2, 0).shards_joined, 2U);
  host(1);
  answer_calls();
  EXPECT_EQ(core->status(2, 0).shards_joined, 4U);
  EXPECT_EQ(out.idle.size(), 1U);
}

// It has begun since, and its own word came first.
TEST_F(slots_test, one_that_is_here_is_not_forgotten_for_an_old_word_of_its_process) {
  begin();
  die();
  for (const auto& [slot, member] : hosted) join(member);
  for (const std::uint32_t slot : {0U, 1U}) host(slot);
  answer_calls();
  EXPECT_EQ(core->status(2, 0).shards_joined, 4U);
  EXPECT_TRUE(core->status(2, 0).lost.empty());
}

// Its connection broke, and what it was asked to have is lost with it.
TEST_F(slots_test, a_process_that_joins_again_is_asked_again_for_what_it_lacks) {
  host(0);
  ASSERT_EQ(out.hosts.size(), 2U);
  const auto asked = std::exchange(out.hosts, {});
  const auto first = asked[0].message.members[0];
  host(0, 1, {first});
  ASSERT_EQ(out.hosts.size(), 1U);
  EXPECT_EQ(out.hosts[0].message.members[0], asked[1].message.members[0])
      << "the same life of it";
}

TEST_F(slots_test, a_member_that_joins_again_is_told_again_to_leave) {
  begin();
  ASSERT_TRUE(core->scale_shards(2, 1, out).ok());
  carry_out();
  ASSERT_EQ(std::exchange(out.retirements, {}).size(), 2U);
  const auto leaver = hosted[2].second;
  ASSERT_EQ(hosted[2].first, 1U);
  join(leaver);
  ASSERT_EQ(out.retirements.size(), 1U);
  EXPECT_EQ(out.retirements[0].shard, leaver.shard);
  EXPECT_EQ(out.retirements[0].member, leaver.member.number);
}

TEST_F(slots_test, a_member_that_left_while_its_connection_was_broken_has_left) {
  begin();
  ASSERT_TRUE(core->scale_shards(2, 1, out).ok());
  carry_out();
  ASSERT_EQ(std::exchange(out.retirements, {}).size(), 2U);
  host(1);
  answer_calls();
  const auto events = core->status(3, 0).events;
  EXPECT_EQ(std::count_if(events.begin(), events.end(),
                          [](const auto& entry) { return entry.subject == "shard_moved"; }),
            2);
  EXPECT_EQ(out.idle.size(), 1U);
}

TEST_F(slots_test, the_late_word_of_a_process_that_has_died_is_no_members) {
  host(0);
  const auto late = out.hosts.at(0).message.members.at(0);
  out.hosts.clear();
  core->host_lost({0, 0}, 1);
  host(0, 2);
  ASSERT_FALSE(out.hosts.empty());
  const auto again = out.hosts.at(0).message.members.at(0);
  EXPECT_EQ(again.shard, late.shard);
  EXPECT_GT(again.member.incarnation, late.member.incarnation);
  EXPECT_FALSE(core->shard_joined(1, late.shard, "of the dead", 9, out, late.member));
  EXPECT_EQ(answer_to(9).result.code(), runtime::errc::already_exists);
  host(1);
  carry_out();
  EXPECT_EQ(core->status(1, 0).shards_joined, 4U);
  EXPECT_EQ(shards_of(0), (shards{0, 2}));
}

TEST_F(slots_test, a_journal_that_cannot_be_is_told_so) {
  begin();
  keep();
  const auto good = journal["slots"];
  for (const char* bad : {R"({"wanted":5,"slot_of":[0,1,0,1],"processes":[]})",
                          R"({"wanted":2,"slot_of":[0,1,0,2],"processes":[]})",
                          R"({"wanted":2,"slot_of":[0,1,0,1],"processes":[4,0,1]})",
                          R"({"wanted":2,"slot_of":[0,1,0,1],"processes":[0,0,0]})"}) {
    journal["slots"] = bad;
    EXPECT_FALSE(decode_journal(spec, entries())) << bad;
  }
  journal["slots"] = good;
  EXPECT_TRUE(decode_journal(spec, entries()));
  spec.slots = 0;
  EXPECT_FALSE(decode_journal(spec, entries()));
}

}  // namespace
}  // namespace tidegate::policies
