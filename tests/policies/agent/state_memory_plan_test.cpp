// Which memory a worker gets, and what is known of the state before it.
#include "policies/agent/state_memory_plan.hpp"

#include <gtest/gtest.h>

namespace tidegate::policies {
namespace {

struct memory_case {
  agent_orders::start start;
  bool has_memory = false;
  bool is_new = false;
  bool has_history = false;
};

void expect(const memory_case& of) {
  const auto plan = plan_state_memory(of.start, of.has_memory);
  EXPECT_EQ(plan.is_new, of.is_new);
  if (of.is_new) {
    EXPECT_EQ(plan.has_history, of.has_history);
  }
}

TEST(state_memory_plan, is_new_where_nothing_is_there_or_what_is_there_is_of_no_use) {
  expect({.start = {.process = {3, 1}}, .is_new = true, .has_history = true});
  expect({.start = {.process = {3, 2}}, .has_memory = true});
  expect({.start = {.process = {3, 3}, .epoch = 2}, .has_memory = true});
  expect({.start = {.process = {3, 2}, .joins = true},
          .has_memory = true,
          .is_new = true,
          .has_history = true});
  expect({.start = {.process = {3, 2}, .moved = true}, .has_memory = true, .is_new = true});
}

// Of an earlier launcher's time, or of another host.
TEST(state_memory_plan, does_not_pretend_to_know_what_was_before) {
  expect({.start = {.process = {3, 1}, .epoch = 2}, .is_new = true});
  expect({.start = {.process = {3, 2}, .moved = true}, .is_new = true});
}

}  // namespace
}  // namespace tidegate::policies
