#include "policies/worker/session_core.hpp"

#include <gtest/gtest.h>

namespace tidegate::policies {
namespace {

using runtime::errc;
using action = session_step::action;

table_request named(const std::string& name) {
  table_request request;
  request.spec.name = name;
  return request;
}

table_grant grant(std::uint32_t id, const std::string& name) {
  return {.table = id,
          .elements = 4,
          .name = name,
          .places = {{.chunk = 0, .shard = 0, .first = 0, .elements = 4}}};
}

session_core joined(std::uint32_t rank) {
  session_core core;
  EXPECT_EQ(core.join({"job", rank, 1, "address"}).kind, action::ask_welcome);
  worker_welcome welcome;
  welcome.workers = 3;
  const auto step = core.next({}, welcome);
  EXPECT_EQ(step.kind, action::done);
  EXPECT_TRUE(step.result.ok());
  return core;
}

void open(session_core& core, std::uint32_t id, const std::string& name) {
  EXPECT_EQ(core.open(named(name)).request.spec.name, name);
  EXPECT_EQ(core.next({}, grant(id, name)).grant.table, id);
  EXPECT_EQ(core.next({}).kind, action::done);
}

// The kinds of the steps of an operation that goes well.
std::vector<action> kinds(session_core& core, session_step step,
                          const std::vector<table_grant>& all = {}) {
  std::vector<action> found;
  while (step.kind != action::done) {
    found.push_back(step.kind);
    session_answer answer;
    if (step.kind == action::tell_finished && !step.hashed) answer = all;
    step = core.next({}, answer);
  }
  EXPECT_TRUE(step.result.ok());
  return found;
}

TEST(session_core, a_table_is_open_when_it_is_attached) {
  auto core = joined(1);
  ASSERT_EQ(core.open(named("w")).kind, action::ask_grant);
  const auto attach = core.next({}, grant(7, "w"));
  ASSERT_EQ(attach.kind, action::attach);
  EXPECT_EQ(attach.grant.table, 7U);
  EXPECT_EQ(core.table(7), nullptr) << "not yet";
  const auto done = core.next({});
  EXPECT_EQ(done.kind, action::done);
  EXPECT_EQ(done.grant.table, 7U);
  ASSERT_NE(core.table(7), nullptr);
  EXPECT_EQ(core.table(7)->name, "w");
}

TEST(session_core, a_step_that_fails_ends_its_operation_and_nothing_else) {
  auto core = joined(1);
  core.open(named("w"));
  const auto refused = core.next({errc::refused, "no"});
  EXPECT_EQ(refused.kind, action::done);
  EXPECT_EQ(refused.result.code(), errc::refused);
  core.open(named("w"));
  core.next({}, grant(7, "w"));
  EXPECT_EQ(core.next({errc::io_error, "no memory"}).result.code(), errc::io_error);
  EXPECT_EQ(core.table(7), nullptr);
  open(core, 7, "w");
  EXPECT_NE(core.table(7), nullptr);
}

TEST(session_core, the_coordinator_is_told_once_which_tables_are_open_and_then_none_can_be) {
  auto core = joined(1);
  open(core, 7, "w");
  open(core, 3, "a");
  EXPECT_EQ(core.before_moving().tables, (std::vector<std::uint32_t>{3, 7}));
  EXPECT_EQ(core.next({errc::timed_out, "late"}).result.code(), errc::timed_out);
  EXPECT_EQ(kinds(core, core.before_moving()), std::vector{action::tell_opened})
      << "not told yet";
  EXPECT_TRUE(kinds(core, core.before_moving()).empty());
  const auto late = core.open(named("b"));
  EXPECT_EQ(late.kind, action::done);
  EXPECT_EQ(late.result.code(), errc::out_of_order);
  EXPECT_NE(late.result.message().find("'b'"), std::string::npos);
}

TEST(session_core, who_is_asked_to_hashes_all_tables_of_the_job_and_attaches_those_it_has_not) {
  auto core = joined(1);
  open(core, 7, "w");
  const std::vector<action> expected{
      action::farewell, action::tell_finished, action::attach, action::pull_to_end,
      action::hash,     action::pull_to_end,   action::hash,   action::tell_finished};
  EXPECT_EQ(kinds(core, core.finish(), {grant(3, "a"), grant(7, "w")}), expected);
  EXPECT_TRUE(kinds(core, core.leave()).empty());
}

TEST(session_core, others_end_without) {
  auto core = joined(2);
  EXPECT_EQ(kinds(core, core.finish()), (std::vector{action::farewell, action::tell_finished}));
  EXPECT_EQ(core.open(named("w")).result.code(), errc::out_of_order);
}

TEST(session_core, the_coordinator_hears_nothing_of_the_end_of_clocks) {
  auto core = joined(2);
  EXPECT_EQ(kinds(core, core.end_clocks()), (std::vector{action::farewell}));
  EXPECT_TRUE(kinds(core, core.end_clocks()).empty());
  EXPECT_EQ(kinds(core, core.finish()), (std::vector{action::tell_finished}));
  EXPECT_TRUE(kinds(core, core.leave()).empty());
}

TEST(session_core, who_leaves_after_its_clocks_has_not_finished) {
  auto core = joined(2);
  kinds(core, core.end_clocks());
  EXPECT_EQ(core.leave().kind, action::tell_failed);
}

TEST(session_core, who_leaves_without_an_end_says_so) {
  session_core stranger;
  EXPECT_TRUE(kinds(stranger, stranger.leave()).empty()) << "never joined";
  auto core = joined(2);
  core.finish();
  core.next({errc::refused, "a shard refused"});
  const auto step = core.leave();
  EXPECT_EQ(step.kind, action::tell_failed);
  EXPECT_EQ(step.why, "worker 2 left before finish()");
  core.next({errc::unavailable, "nobody there"});
  EXPECT_TRUE(kinds(core, core.leave()).empty()) << "told, or tried";
}

TEST(session_core, a_failure_is_told_once) {
  auto core = joined(1);
  EXPECT_EQ(core.fail("diverged").why, "diverged");
  core.next({});
  EXPECT_TRUE(kinds(core, core.leave()).empty());
}

TEST(session_core, who_comes_back_must_know_where_it_is) {
  session_core core;
  core.join({.job = "job", .rank = 1, .incarnation = 2, .address = "address"});
  worker_welcome welcome;
  welcome.first_clock = 17;
  EXPECT_TRUE(core.next({}, welcome).result.ok());
  const auto refused = core.before_moving();
  EXPECT_EQ(refused.result.code(), errc::out_of_order);
  EXPECT_NE(refused.result.message().find("clock 17"), std::string::npos);
  core.clock_asked();
  EXPECT_EQ(core.before_moving().kind, action::tell_opened);
}

}  // namespace
}  // namespace tidegate::policies
