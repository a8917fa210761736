// Promise 1 as properties over random event orders, judged by an oracle that shares no code
// with the policies: the staleness bound holds, nobody waits who may go, BSP delivers exactly
// version c.
#include "policies/consistency/consistency.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "policies/consistency/bsp.hpp"
#include "runtime/base/rng.hpp"

namespace tidegate::policies {
namespace {

using action = policy_decision::action;

// Drives one chunk with random workers and remembers what happened.
class world {
 public:
  world(const consistency_spec& spec, std::uint32_t workers, std::uint64_t clocks,
        std::uint64_t seed)
      : spec_(spec), policy_(make_policy(spec, workers)), workers_(workers), random_(seed) {
    for (auto& worker : workers_) worker.clocks = 1 + random_.below(clocks);
  }

  // Runs to the end; false if nobody could move before that.
  bool run() {
    while (true) {
      std::vector<std::uint32_t> movable;
      bool all_done = true;
      for (std::uint32_t rank = 0; rank < workers_.size(); ++rank) {
        all_done = all_done && workers_[rank].finished;
        if (!workers_[rank].finished && !workers_[rank].waiting) movable.push_back(rank);
      }
      if (all_done) return true;
      if (movable.empty()) return false;
      move(movable[random_.below(movable.size())]);
      check_nobody_waits_in_vain();
    }
  }

  std::uint64_t answers = 0;
  std::uint64_t parked = 0;

 private:
  struct one_worker {
    std::uint64_t clocks = 0;  // that it will run
    std::uint64_t clock = 0;
    bool pulled = false;
    bool waiting = false;
    bool finished = false;
    std::set<std::uint64_t> applied;
  };

  void move(std::uint32_t rank) {
    auto& me = workers_[rank];
    policy_decisions decisions;
    if (me.clock == me.clocks) {
      me.finished = true;
      policy_->worker_finished(rank, decisions);
    } else if (!me.pulled) {
      me.pulled = true;
      me.waiting = true;
      policy_->pull_arrived({.rank = rank, .clock = me.clock, .is_final = false}, decisions);
    } else {
      me.pulled = false;
      const auto clock = me.clock++;
      policy_->push_arrived(rank, clock, decisions);
    }
    for (const auto& decision : decisions) carry_out(decision);
    if (me.waiting) ++parked;
  }

  void carry_out(const policy_decision& decision) {
    switch (decision.kind) {
      case action::apply_one:
        ASSERT_NE(spec_.kind, consistency_kind::bsp);
        ASSERT_TRUE(workers_[decision.rank].applied.insert(decision.clock).second) << "twice";
        break;
      case action::apply_clock:
        ASSERT_EQ(spec_.kind, consistency_kind::bsp);
        for (auto& worker : workers_)
          if (worker.clock > decision.clock) {
            ASSERT_TRUE(worker.applied.insert(decision.clock).second) << "twice";
          }
        ASSERT_EQ(decision.clock, version_++);
        break;
      case action::answer:
        check_answer(decision.rank, decision.clock);
        workers_[decision.rank].waiting = false;
        ++answers;
        break;
      case action::too_late:
        FAIL() << "a worker in order is never too late";
      case action::measure:
      case action::hand_on:
      case action::settle:
      case action::ask:
        FAIL() << "only aggregators relay";
    }
  }

  static bool has_all_below(const one_worker& of, std::uint64_t end) {
    const auto last = std::min(end, of.clocks);  // it will never push more than its clocks
    for (std::uint64_t clock = 0; clock < last; ++clock)
      if (!of.applied.contains(clock)) return false;
    return true;
  }

  // May a pull of (rank, clock) be answered, by the words of the promise?
  bool allowed(std::uint32_t rank, std::uint64_t clock) const {
    if (spec_.kind == consistency_kind::async) return true;
    const auto lag = spec_.kind == consistency_kind::ssp ? spec_.staleness : 0;
    const auto bound = clock > lag ? clock - lag : 0;
    return has_all_below(workers_[rank], clock) &&
           std::all_of(workers_.begin(), workers_.end(),
                       [&](const one_worker& other) { return has_all_below(other, bound); });
  }

  void check_answer(std::uint32_t rank, std::uint64_t clock) {
    EXPECT_TRUE(allowed(rank, clock)) << "rank " << rank << " clock " << clock;
    if (spec_.kind == consistency_kind::bsp) {
      EXPECT_EQ(version_, clock) << "exactly version c";
    }
  }

  void check_nobody_waits_in_vain() {
    for (std::uint32_t rank = 0; rank < workers_.size(); ++rank) {
      if (!workers_[rank].waiting) continue;
      // A worker that has run its clocks but not yet said so may still hold others up.
      bool unsaid = false;
      for (const auto& other : workers_)
        unsaid = unsaid || (!other.finished && other.clock == other.clocks);
      if (!unsaid) {
        EXPECT_FALSE(allowed(rank, workers_[rank].clock))
            << "rank " << rank << " waits in vain";
      }
    }
  }

  consistency_spec spec_;
  std::unique_ptr<consistency_policy> policy_;
  std::vector<one_worker> workers_;
  runtime::rng random_;
  std::uint64_t version_ = 0;
};

class consistency_property : public testing::TestWithParam<consistency_spec> {};

TEST_P(consistency_property, holds_over_random_orders) {
  std::uint64_t parked = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const auto workers = static_cast<std::uint32_t>(1 + runtime::mix64(seed) % 6);
    world entry(GetParam(), workers, 12, seed);
    ASSERT_TRUE(entry.run()) << "stuck, seed " << seed;
    if (HasFailure()) FAIL() << "seed " << seed;
    EXPECT_GT(entry.answers, 0u);
    parked += entry.parked;
  }
  // The rare path must have been hit, or the test shows nothing.
  if (GetParam().kind == consistency_kind::async) {
    EXPECT_EQ(parked, 0u);
  } else {
    EXPECT_GT(parked, 100u);
  }
}

INSTANTIATE_TEST_SUITE_P(policies, consistency_property,
                         testing::Values(consistency_spec{consistency_kind::bsp, 0},
                                         consistency_spec{consistency_kind::ssp, 0},
                                         consistency_spec{consistency_kind::ssp, 1},
                                         consistency_spec{consistency_kind::ssp, 3},
                                         consistency_spec{consistency_kind::async, 0}),
                         [](const auto& one) {
                           auto name = to_string(one.param);
                           std::erase_if(name, [](char c) { return c == '(' || c == ')'; });
                           return name;
                         });

TEST(bsp_policy, refuses_a_version_that_is_gone) {
  auto policy = make_policy({consistency_kind::bsp, 0}, 1);
  policy_decisions out;
  policy->push_arrived(0, 0, out);
  out.clear();
  policy->pull_arrived({.rank = 0, .clock = 0, .is_final = false}, out);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].kind, action::too_late);
}

TEST(bsp_policy, measures_a_clock_and_applies_it_when_the_norm_is_known) {
  bsp_policy policy(2, true);
  policy_decisions out;
  const policy_decisions measured_0{{action::measure, 0, 0}};
  policy.push_arrived(0, 0, out);
  policy.pull_arrived({.rank = 0, .clock = 1}, out);
  EXPECT_TRUE(out.empty());
  policy.push_arrived(1, 0, out);
  EXPECT_EQ(out, measured_0);
  EXPECT_TRUE(policy.waits_for_norm(0));
  EXPECT_EQ(policy.complete_below(), 0U);
  EXPECT_EQ(policy.closed_below(), 1U);
  out.clear();
  policy.push_arrived(0, 1, out);
  policy.push_arrived(1, 1, out);
  EXPECT_TRUE(out.empty()) << "one clock after the other";
  policy.norm_arrived(out);
  const policy_decisions applied{
      {action::apply_clock, 0, 0}, {action::answer, 0, 1}, {action::measure, 0, 1}};
  EXPECT_EQ(out, applied);
  EXPECT_TRUE(policy.waits_for_norm(1));
}

// All have finished, but not all is applied.
TEST(bsp_policy, a_pull_of_everything_waits_for_the_norm) {
  bsp_policy policy(1, true);
  policy_decisions out;
  policy.push_arrived(0, 0, out);
  policy.worker_finished(0, out);
  out.clear();
  policy.pull_arrived({.rank = 0, .clock = clock_vector::infinity, .is_final = true}, out);
  EXPECT_TRUE(out.empty());
  policy.norm_arrived(out);
  ASSERT_EQ(out.size(), 2U);
  EXPECT_EQ(out[1].kind, action::answer);
}

TEST(ssp_policy, a_pull_that_overtook_its_own_push_is_answered_by_that_push) {
  auto policy = make_policy({consistency_kind::ssp, 3}, 2);
  policy_decisions out;
  policy->pull_arrived({.rank = 0, .clock = 1, .is_final = false}, out);
  EXPECT_TRUE(out.empty());
  policy->push_arrived(0, 0, out);  // the other is still at 0: min does not move
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[1], (policy_decision{action::answer, 0, 1}));
  EXPECT_EQ(policy->parked(), 0u);
}

// Counts how often it is asked.
class asked_policy final : public consistency_policy {
 public:
  explicit asked_policy(std::uint32_t workers) : consistency_policy(workers) {}
  mutable std::uint64_t asked = 0;

 private:
  void decide_apply(std::uint32_t, std::uint64_t, policy_decisions&) override {}
  answer decide_pull(const pull_request& pull) const override {
    ++asked;
    return clocks().min() >= pull.clock ? answer::now : answer::later;
  }
};

TEST(consistency_policy, a_clock_of_many_workers_looks_at_each_of_them_thrice) {
  constexpr std::uint32_t workers = 1000;
  asked_policy policy(workers);
  policy_decisions out;
  for (std::uint32_t rank = 0; rank < workers; ++rank) {
    policy.push_arrived(rank, 0, out);
    policy.pull_arrived({.rank = rank, .clock = 1, .is_final = false}, out);
  }
  EXPECT_EQ(out.size(), workers) << "all are answered";
  // When its pull comes, perhaps at its own push, and when the last push frees it.
  EXPECT_LE(policy.asked, 3 * workers);
}

TEST(ssp_policy, lets_the_fast_run_exactly_s_clocks_ahead) {
  auto policy = make_policy({consistency_kind::ssp, 3}, 2);
  policy_decisions out;
  for (std::uint64_t clock = 0; clock < 4; ++clock) policy->push_arrived(0, clock, out);
  out.clear();
  policy->pull_arrived({.rank = 0, .clock = 4, .is_final = false}, out);
  EXPECT_TRUE(out.empty()) << "clock 4 needs clock 0 of the other";
  policy->push_arrived(1, 0, out);
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[1], (policy_decision{action::answer, 0, 4}));
}

TEST(ssp_policy, a_pull_that_overtakes_its_workers_own_push_waits_for_it) {
  auto policy = make_policy({consistency_kind::ssp, 3}, 2);
  policy_decisions out;
  policy->pull_arrived({.rank = 0, .clock = 1, .is_final = false}, out);
  EXPECT_TRUE(out.empty()) << "read-my-writes: clock 0 of rank 0 is still on its way";
  policy->push_arrived(0, 0, out);
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[1], (policy_decision{action::answer, 0, 1}));
}

TEST(any_policy, pull_of_everything_waits_for_all) {
  for (auto kind : {consistency_kind::bsp, consistency_kind::ssp, consistency_kind::async}) {
    auto policy = make_policy({kind, 5}, 2);
    policy_decisions out;
    policy->push_arrived(0, 0, out);
    out.clear();
    policy->pull_arrived({.rank = 0, .clock = 1, .is_final = true}, out);
    EXPECT_TRUE(out.empty());
    EXPECT_EQ(policy->parked(), 1u);
    policy->push_arrived(1, 0, out);
    ASSERT_FALSE(out.empty());
    EXPECT_EQ(out.back(), (policy_decision{action::answer, 0, 1}));
  }
}

TEST(any_policy, a_replaced_worker_forgets_its_parked_pull) {
  auto policy = make_policy({consistency_kind::bsp, 0}, 2);
  policy_decisions out;
  policy->push_arrived(0, 0, out);
  policy->pull_arrived({.rank = 0, .clock = 1, .is_final = false}, out);
  EXPECT_EQ(policy->parked(), 1u);
  policy->worker_replaced(0);
  EXPECT_EQ(policy->parked(), 0u);
  out.clear();
  policy->push_arrived(1, 0, out);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].kind, action::apply_clock);
}

TEST(consistency_spec, prints) {
  EXPECT_EQ(to_string(consistency_spec{consistency_kind::bsp, 0}), "bsp");
  EXPECT_EQ(to_string(consistency_spec{consistency_kind::ssp, 3}), "ssp(3)");
  EXPECT_EQ(to_string(consistency_spec{consistency_kind::async, 0}), "async");
}

}  // namespace
}  // namespace tidegate::policies
