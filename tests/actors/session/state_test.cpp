// What a session keeps, against a real cluster in this process.
#include <gtest/gtest.h>

#include "tests/actors/session/session_fixture.hpp"

namespace tidegate::tests {
namespace {

class session_state_test : public session_test {
 protected:
  static std::span<const std::byte> bytes(std::string_view text) {
    return std::as_bytes(std::span(text));
  }
  static std::string kept(const session& s, std::string_view name) {
    const auto found = s.state().kept(name);
    return found ? std::string(reinterpret_cast<const char*>(found->data()), found->size())
                 : found.error().to_string();
  }
};

TEST_F(session_state_test, what_is_kept_is_read_and_forgotten_by_its_name) {
  local_cluster cluster(small_cluster(1, 1, {consistency_kind::bsp, 0}), links());
  cluster.run_workers("job", [&](session& s) {
    const auto t = open(s, 10);
    EXPECT_FALSE(s.state().is_lost());
    EXPECT_EQ(s.state().names()->size(), 0u);
    expect(s.state().kept("a").error(), errc::not_found, "keeps nothing under 'a'");
    ASSERT_TRUE(s.state().keep("b", bytes("two")).ok());
    ASSERT_TRUE(s.state().keep("a", bytes("one")).ok());
    EXPECT_EQ(*s.state().names(), (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(kept(s, "a"), "one");
    ASSERT_TRUE(s.clock().ok());
    EXPECT_EQ(kept(s, "b"), "two") << "what is not kept again stays";
    ASSERT_TRUE(s.state().forget("b").ok());
    ASSERT_TRUE(s.state().forget("never kept").ok());
    EXPECT_EQ(*s.state().names(), (std::vector<std::string>{"a"}));
    ASSERT_TRUE(s.state().forget_all().ok());
    EXPECT_EQ(s.state().names()->size(), 0u);
    expect(s.state().keep("large", std::vector<std::byte>(2 << 20)), errc::over_limit,
           "state.max");
    expect(s.state().keep("", {}), errc::invalid_argument, "1 to 128 bytes");
    EXPECT_TRUE(s.push(t, floats(10, 1.0F)).wait().ok());
    EXPECT_TRUE(s.clock().ok());
    EXPECT_TRUE(s.finish().ok());
  });
  EXPECT_EQ(cluster.status().jobs[0].state, policies::job_state::done);
}

// The loop of the README, which waits for its push before the clock ends.
TEST_F(session_state_test, a_push_that_is_waited_for_commits_and_ends) {
  local_cluster cluster(small_cluster(2, 2, {consistency_kind::bsp, 0}), links());
  cluster.run_workers("job", [&](session& s) {
    const auto t = open(s, 100);
    for (std::uint64_t clock = 0; clock < 20; ++clock) {
      ASSERT_TRUE(s.state().keep("clock", bytes(std::to_string(clock + 1))).ok());
      ASSERT_TRUE(s.push(t, floats(100, 1.0F)).wait().ok());
      expect(s.state().keep("clock", bytes("late")), errc::out_of_order, "has left");
      EXPECT_EQ(kept(s, "clock"), std::to_string(clock + 1));
      ASSERT_TRUE(s.clock().ok());
    }
    EXPECT_TRUE(s.finish().ok());
  });
}

// Each of two waits for the push that the other one has made first.
TEST_F(session_state_test, workers_that_wait_for_different_tables_do_not_wait_for_ever) {
  local_cluster cluster(small_cluster(1, 2, {consistency_kind::bsp, 0}), links());
  cluster.run_workers("job", [&](session& s) {
    const auto first = open(s, 10);
    const auto second = s.open_table("second", {10});
    ASSERT_TRUE(second);
    const floats ones(10, 1.0F);
    for (int clock = 0; clock < 10; ++clock) {
      ASSERT_TRUE(s.state().keep("a", bytes("x")).ok());
      if (s.info().rank == 0) {
        auto pushed = s.push(*second, ones);
        auto last = s.push(first, ones);
        ASSERT_TRUE(pushed.wait().ok()) << "the other worker waits for `last`";
      } else {
        ASSERT_TRUE(s.push(first, ones).wait().ok());
        ASSERT_TRUE(s.push(*second, ones).wait().ok());
      }
      ASSERT_TRUE(s.clock().ok());
    }
    EXPECT_TRUE(s.finish().ok());
  });
}

TEST_F(session_state_test, state_may_not_begin_when_the_last_push_has_left) {
  local_cluster cluster(small_cluster(1, 1, {consistency_kind::async, 0}), links());
  cluster.run_workers("job", [&](session& s) {
    const auto t = open(s, 10);
    const floats ones(10, 1.0F);
    auto pushed = s.push(t, ones);
    expect(s.state().keep("a", bytes("x")), errc::out_of_order,
           "something before the first push of a clock");
    ASSERT_TRUE(s.clock().ok());
    EXPECT_TRUE(s.state().keep("a", bytes("x")).ok());
    const tidegate::table tables[] = {t};
    std::ranges::fill(s.gradient(t), 1.0F);
    ASSERT_TRUE(s.exchange(tables).ok());
    EXPECT_EQ(kept(s, "a"), "x");
    EXPECT_TRUE(s.finish().ok());
  });
}

TEST_F(session_state_test, pushes_from_memory_of_the_programs_own_are_held_as_they_are) {
  local_cluster cluster(small_cluster(1, 1, {consistency_kind::bsp, 0}), links(), false);
  cluster.run_workers("job", [&](session& s) {
    const auto t = open(s, 10, 0.0F);
    floats gradient(10), parameters(10);
    ASSERT_TRUE(s.state().keep("a", bytes("x")).ok());
    for (int clock = 0; clock < 10; ++clock) {
      std::ranges::fill(gradient, 1.0F);
      auto pushed = s.push(t, gradient);
      EXPECT_FALSE(pushed.ready()) << "it leaves with clock()";
      ASSERT_TRUE(s.clock().ok());
      ASSERT_TRUE(pushed.wait().ok());
    }
    ASSERT_TRUE(s.pull(t, parameters).wait().ok());
    EXPECT_EQ(parameters, floats(10, -5.0F));
    EXPECT_TRUE(s.finish().ok());
  });
}

}  // namespace
}  // namespace tidegate::tests
