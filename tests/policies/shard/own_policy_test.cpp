// A policy that only this file knows: what it takes to add one.
#include <gtest/gtest.h>

#include "policies/consistency/consistency.hpp"
#include "policies/model/kept_versions.hpp"
#include "tests/policies/shard/fixture.hpp"

namespace tidegate::policies {
namespace {

// Nobody overtakes rank 0: a pull at clock c waits for its pushes of all clocks below, and for
// nobody else's.
class follow_the_first final : public consistency_policy {
 public:
  explicit follow_the_first(std::uint32_t workers) : consistency_policy(workers) {}

 private:
  void decide_apply(std::uint32_t rank, std::uint64_t clock, policy_decisions& out) override {
    if (clock != clock_vector::infinity)
      out.push_back({policy_decision::action::apply_one, rank, clock});
  }
  answer decide_pull(const pull_request& pull) const override {
    return clocks().through(0) >= pull.clock ? answer::now : answer::later;
  }
};

std::unique_ptr<consistency_policy> make_follow_the_first(const consistency_spec&,
                                                          std::uint32_t workers) {
  return std::make_unique<follow_the_first>(workers);
}

consistency_spec spec() {
  static const auto kind = register_policy(
      {.name = "follow-the-first", .waits_for_others = true}, make_follow_the_first);
  return {kind, 0};
}

TEST(own_policy, has_its_name_and_traits) {
  EXPECT_EQ(to_string(spec()), "follow-the-first");
  EXPECT_TRUE(traits_of(spec().kind).waits_for_others);
  EXPECT_EQ(versions_kept(spec(), true, true), 0u) << "its versions are not exact";
}

TEST(own_policy, decides_in_a_shard) {
  auto core = make_core(spec(), 3);
  shard_effects out;
  core.push(tag(1, 0), 10, out);
  EXPECT_EQ(all<apply>(out).size(), 1u) << "applied at once";
  out.clear();
  core.pull(tag(1, 1), false, out);
  EXPECT_TRUE(all<reply>(out).empty()) << "rank 0 has not pushed clock 0";
  core.push(tag(0, 0), 11, out);
  const auto replies = all<reply>(out);
  ASSERT_EQ(replies.size(), 1u) << "and rank 2 need not have";
  EXPECT_EQ(replies[0].tag.rank, 1u);
  EXPECT_EQ(replies[0].code, refusal::none);
}

}  // namespace
}  // namespace tidegate::policies
