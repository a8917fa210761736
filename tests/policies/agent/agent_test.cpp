// The agent of a host and the launcher's contact with it, over connections that break: what is
// ordered is carried out once and in order, what is reported arrives once and in order, and
// what counts as dead is dead.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/policies/agent/host_run.hpp"

namespace tidegate::policies {
namespace {

TEST(agent, carries_out_what_was_ordered_before_it_was_there) {
  host_run run;
  run.starts_itself = false;
  run.begin();
  run.order(1);
  run.order(2);
  EXPECT_TRUE(run.contact.may_order());
  run.start(run.starts.back());
  run.carry_out();
  EXPECT_EQ(run.ups, 1);
  EXPECT_EQ(run.clearings, 1) << "what is left of before is ended first";
  EXPECT_EQ(run.carried_out, (numbers{1, 2}));
}

TEST(agent, orders_and_reports_outlive_connections) {
  host_run run;
  run.begin();
  run.order(1);
  run.report(11);
  run.reachable = false;
  run.cut();
  run.order(2);
  run.report(12);
  run.report(13);
  run.pass(unreachable / 3);
  EXPECT_EQ(run.carried_out, (numbers{1}));
  run.reachable = true;
  run.pass(unreachable / 3);
  run.cut();
  run.pass(unreachable / 3);
  EXPECT_EQ(run.carried_out, (numbers{1, 2}));
  EXPECT_EQ(run.reported, (numbers{11, 12, 13}));
  EXPECT_EQ(run.ups, 1);
  EXPECT_TRUE(run.downs.empty());
}

// An agent that has much to report goes on when it hears that it was taken.
TEST(agent, hears_soon_that_its_reports_were_taken) {
  host_run run;
  run.begin();
  for (std::uint32_t number = 1; number <= 40; ++number) {
    run.report(number);
    EXPECT_LE(run.agent->reports_kept(), 4U);
  }
  EXPECT_EQ(run.reported.size(), 40U);
}

TEST(agent, idles_for_as_long_as_both_live) {
  host_run run;
  run.begin();
  run.pass(10 * unreachable);
  EXPECT_TRUE(run.downs.empty());
  EXPECT_EQ(run.connections, 1U);
}

TEST(agent, ends_all_when_the_launcher_is_out_of_reach_and_is_started_again) {
  host_run run;
  run.begin();
  run.order(1);
  run.reachable = false;
  run.cut();
  run.pass(unreachable - 100 * millisecond);
  EXPECT_TRUE(run.downs.empty());
  EXPECT_EQ(run.clearings, 1);
  run.pass(200 * millisecond);
  EXPECT_EQ(run.downs,
            (std::vector<std::string>{"host blue: no word from its agent for 1000 ms "
                                      "(supervision.unreachable)"}));
  EXPECT_FALSE(run.contact.may_order());
  EXPECT_TRUE(run.carried_out.empty()) << "by itself, as the launcher counts them as dead";
  run.reachable = true;
  run.pass(3 * unreachable);
  EXPECT_EQ(run.ups, 2);
  run.order(2);
  EXPECT_EQ(run.carried_out, numbers{2});
}

TEST(agent, that_is_killed_takes_its_host_along) {
  host_run run;
  run.begin();
  run.order(1);
  run.kill_agent();
  EXPECT_EQ(run.downs, (std::vector<std::string>{"host blue: killed"}));
  run.pass(unreachable);
  EXPECT_EQ(run.ups, 2);
  EXPECT_TRUE(run.carried_out.empty()) << "what was ordered of the one before is forgotten";
  EXPECT_EQ(run.starts.size(), 2U);
}

// The reason why a host is not back is another than that for which it was lost.
TEST(agent, that_cannot_be_started_again_says_why) {
  host_run run;
  run.begin();
  run.starts_itself = false;
  run.kill_agent();
  run.pass(unreachable / 2);
  ASSERT_EQ(run.starts.size(), 2U);
  run.contact.agent_ended(run.now, "no route to host", run.to_launcher);
  run.carry_out();
  EXPECT_EQ(run.downs, (std::vector<std::string>{"host blue: killed"}));
  EXPECT_EQ(run.stay_downs, (std::vector<std::string>{"host blue: no route to host"}));
}

TEST(agent, that_never_comes_is_given_up) {
  host_run run;
  run.starts_itself = false;
  run.begin();
  run.pass(3 * unreachable + millisecond);
  EXPECT_EQ(run.downs,
            (std::vector<std::string>{"host blue: its agent has not reported within 3000 ms "
                                      "(cluster.start_timeout)"}));
  EXPECT_EQ(run.ended_by_force, 1);
}

TEST(agent, that_copies_files_has_the_time_to_report_again) {
  host_run run;
  run.starts_itself = false;
  run.begin();
  for (int i = 0; i < 5; ++i) {
    run.pass(2 * unreachable);
    run.contact.copies(run.now);
  }
  run.pass(3 * unreachable - millisecond);
  EXPECT_TRUE(run.downs.empty());
  run.pass(2 * millisecond);
  EXPECT_EQ(run.downs.size(), 1U) << "nothing has come for so long";
}

TEST(agent, of_an_earlier_start_is_dismissed) {
  host_run run;
  run.starts_itself = false;
  run.begin();
  run.start(run.starts.back() - 1);
  run.carry_out();
  EXPECT_EQ(run.why, "the launcher has started another agent of this host");
  EXPECT_EQ(run.ups, 0);
}

// What has started it has ended, and it does not know.
TEST(agent, whose_start_has_ended_is_dismissed) {
  host_run run;
  run.starts_itself = false;
  run.begin();
  run.start(run.starts.back());
  run.carry_out();
  EXPECT_EQ(run.ups, 1);
  run.cut();
  run.contact.agent_ended(run.now, "its ssh was killed", run.to_launcher);
  run.pass(50 * millisecond);
  EXPECT_EQ(run.why, "the launcher has started another agent of this host");
  EXPECT_EQ(run.ups, 1);
}

// Somebody else starts agents, and they outlive a launcher.
TEST(agent, finds_the_launcher_that_takes_the_place_of_one) {
  host_run run(false);
  run.begin();
  EXPECT_TRUE(run.starts.empty());
  run.start(0);
  run.carry_out();
  run.order(1);
  EXPECT_EQ(run.ups, 1);
  run.cut();
  run.contact = host_contact(0, {.name = "blue",
                                 .launcher = 7,
                                 .starts_agent = false,
                                 .unreachable_ns = unreachable,
                                 .start_ns = 3 * unreachable});
  run.begin();
  run.pass(unreachable / 2);
  EXPECT_EQ(run.ups, 2);
  EXPECT_EQ(run.clearings, 2);
  EXPECT_TRUE(run.carried_out.empty()) << "of the run before";
  run.order(5);
  EXPECT_EQ(run.carried_out, numbers{5});
}

TEST(agent, ends_all_when_it_is_told_to_leave_and_is_not_started_again) {
  host_run run;
  run.begin();
  run.order(1);
  run.contact.leave(run.now, run.to_launcher);
  run.carry_out();
  EXPECT_EQ(run.why, "asked");
  EXPECT_TRUE(run.contact.is_gone());
  run.pass(10 * unreachable);
  EXPECT_EQ(run.starts.size(), 1U);
}

TEST(agent, comes_back_to_hear_that_it_is_to_leave) {
  host_run run;
  run.begin();
  run.order(1);
  run.reachable = false;
  run.cut();
  run.contact.leave(run.now, run.to_launcher);
  run.carry_out();
  EXPECT_FALSE(run.contact.is_gone());
  run.reachable = true;
  run.pass(unreachable / 2);
  EXPECT_EQ(run.why, "asked") << "it removes its folder then";
  EXPECT_TRUE(run.contact.is_gone());
  EXPECT_EQ(run.ended_by_force, 0);
}

TEST(agent, that_does_not_come_back_to_leave_is_ended_by_force) {
  host_run run;
  run.begin();
  run.patience = 100 * unreachable;
  run.reachable = false;
  run.cut();
  run.contact.leave(run.now, run.to_launcher);
  run.pass(unreachable - 100 * millisecond);
  EXPECT_EQ(run.ended_by_force, 0);
  run.pass(200 * millisecond);
  EXPECT_EQ(run.ended_by_force, 1);
  EXPECT_TRUE(run.contact.is_gone());
}

TEST(agent, ends_all_when_whoever_started_it_is_gone) {
  host_run run;
  run.begin();
  run.order(1);
  run.agent->closed(run.now, "its input was closed", run.to_agent);
  run.carry_out();
  EXPECT_EQ(run.why, "its input was closed");
  EXPECT_TRUE(run.carried_out.empty());
  EXPECT_EQ(run.downs, (std::vector<std::string>{"host blue: its input was closed"}));
}

}  // namespace
}  // namespace tidegate::policies
