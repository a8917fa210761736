// A policy that only this file knows: what it takes to add one.
#include <gtest/gtest.h>

#include "policies/consistency/consistency.hpp"
#include "policies/model/kept_versions.hpp"
#include "tests/policies/shard/fixture.hpp"

namespace tidegate::policies {
namespace {

// Nobody gets more than two clocks ahead of the slowest, and a pull need not have the worker's
// own last push.
class two_ahead final : public consistency_policy {
 public:
  explicit two_ahead(std::uint32_t workers) : consistency_policy(workers) {}

 private:
  void decide_apply(std::uint32_t rank, std::uint64_t clock, policy_decisions& out) override {
    if (clock != clock_vector::infinity)
      out.push_back({policy_decision::action::apply_one, rank, clock});
  }
  answer decide_pull(const pull_request& pull) const override {
    return clocks().min() + 2 >= pull.clock ? answer::now : answer::later;
  }
};

std::unique_ptr<consistency_policy> make_two_ahead(const consistency_spec&,
                                                   std::uint32_t workers) {
  return std::make_unique<two_ahead>(workers);
}

consistency_spec spec() {
  static const auto kind =
      register_policy({.name = "two-ahead", .waits_for_others = true}, make_two_ahead);
  return {kind, 0};
}

TEST(own_policy, has_its_name_and_traits) {
  EXPECT_EQ(to_string(spec()), "two-ahead");
  EXPECT_TRUE(traits_of(spec().kind).waits_for_others);
  EXPECT_EQ(versions_kept(spec(), true, true), 0u) << "its versions are not exact";
}

TEST(own_policy, decides_in_a_shard) {
  auto core = make_core(spec(), 2);
  shard_effects out;
  for (std::uint64_t clock = 0; clock < 3; ++clock) core.push(tag(1, clock), 10 + clock, out);
  EXPECT_EQ(all<apply>(out).size(), 3u) << "applied at once";
  out.clear();
  core.pull(tag(1, 3), false, out);
  EXPECT_TRUE(all<reply>(out).empty()) << "rank 0 has pushed nothing";
  core.push(tag(0, 0), 20, out);
  const auto replies = all<reply>(out);
  ASSERT_EQ(replies.size(), 1u) << "rank 1 is two clocks ahead";
  EXPECT_EQ(replies[0].tag.rank, 1u);
  EXPECT_EQ(replies[0].code, reply_code::ok);
}

}  // namespace
}  // namespace tidegate::policies
