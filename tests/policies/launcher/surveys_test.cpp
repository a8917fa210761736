// Hosts that do not reach each other, as their agents have found out.
#include <map>

#include <gmock/gmock.h>

#include "tests/policies/launcher/fixture.hpp"

namespace tidegate::policies::tests {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

const std::vector<launch_plan::host> three_hosts{
    {.name = "a", .room = {}}, {.name = "b", .room = {}}, {.name = "c", .room = {}}};
const std::set<std::pair<host_number, host_number>> both_with_a{{0, 1}, {1, 0}, {0, 2}, {2, 0}};

launched with_three(const std::set<std::pair<host_number, host_number>>& needed = both_with_a) {
  return launched::on_far_hosts(three_hosts, {0, 1, 2}, needed);
}

void all_are_up(launched& run) {
  for (host_number host = 0; host < 3; ++host) run.host_is_up(host);
}

TEST(launch_surveys, each_host_reaches_for_each_other_before_any_process_is_started) {
  auto run = with_three();
  run.host_is_up(0);
  run.host_is_up(1);
  run.ready();
  EXPECT_THAT(run.seen(), Not(Contains(HasSubstr("start shard"))));
  run.host_is_up(2);
  const auto seen = run.seen();
  const lines begins{"a listens",
                     "b listens",
                     "c listens",
                     "a reaches b c",
                     "b reaches a c",
                     "c reaches a b",
                     "a listens no longer",
                     "b listens no longer",
                     "c listens no longer",
                     "note hosts_surveyed: 3 hosts in 0 ms, of whose pairs 0 do not reach each "
                     "other",
                     "start shard-0 on a"};
  ASSERT_GE(seen.size(), begins.size());
  EXPECT_EQ(lines(seen.begin(), seen.begin() + 11), begins);
  EXPECT_THAT(seen, Contains("start worker-mlp-2 on c"));
}

TEST(launch_surveys, the_coordinator_may_be_ready_later) {
  auto run = with_three();
  all_are_up(run);
  EXPECT_THAT(run.seen(), Not(Contains(HasSubstr("start shard"))));
  run.ready();
  EXPECT_THAT(run.seen(), Contains("start shard-0 on a"));
}

TEST(launch_surveys, a_run_ends_whose_hosts_have_to_reach_each_other_and_do_not) {
  for (const auto& [from, to] : both_with_a) {
    auto run = with_three();
    run.is_apart(from, to);
    run.ready();
    all_are_up(run);
    EXPECT_THAT(run.seen(), Not(Contains(HasSubstr("host_unreached")))) << "after one try";
    run.pass_ms(2'000);
    const auto seen = run.seen();
    const auto text = three_hosts[from].name + " (at-" + three_hosts[from].name +
                      ") does not reach " + three_hosts[to].name + " (at-" +
                      three_hosts[to].name + "): no answer";
    EXPECT_THAT(seen, Contains("note host_unreached: " + text));
    EXPECT_THAT(seen, Contains("tidegate: hosts that have to reach each other do not: " + text +
                               "; have every TCP port pass between these addresses, or name "
                               "others (cluster.hosts.*.address)"));
    EXPECT_THAT(seen, Not(Contains(HasSubstr("start shard"))));
  }
}

TEST(launch_surveys, a_pair_that_is_not_reached_once_is_tried_again) {
  auto run = with_three();
  run.is_not_heard(1);
  run.ready();
  all_are_up(run);
  run.seen();
  run.says(1, {.number = 1, .step = survey_step::listen, .port = 4000});
  run.says(1, {.number = 1,
               .step = survey_step::reach,
               .unreached = {{.host = 0, .why = "no answer"}}});
  run.pass_ms(1'999);
  EXPECT_THAT(run.seen(), Not(Contains("b listens"))) << "a network may come up late";
  run.pass_ms(1);
  auto seen = run.seen();
  EXPECT_THAT(seen, Contains("b listens"));
  EXPECT_THAT(seen, Not(Contains(HasSubstr("note"))));
  run.says(1, {.number = 2, .step = survey_step::listen, .port = 4000});
  run.says(1, {.number = 2, .step = survey_step::reach});
  seen = run.seen();
  EXPECT_THAT(seen, Not(Contains(HasSubstr("host_unreached"))));
  EXPECT_THAT(seen, Contains("start shard-0 on a"));
}

TEST(launch_surveys, pairs_that_no_process_needs_are_told) {
  auto run = with_three();
  run.is_apart(1, 2);
  run.is_apart(2, 1);
  run.ready();
  all_are_up(run);
  const auto seen = run.seen();
  EXPECT_THAT(seen, Contains("warning: b (at-b) does not reach c (at-c): no answer; c (at-c) "
                             "does not reach b (at-b): no answer; no process needs that now, "
                             "and one may when hosts or processes are lost"));
  EXPECT_THAT(seen, Contains("start worker-mlp-2 on c"));
}

TEST(launch_surveys, a_host_that_cannot_listen_is_not_reached) {
  auto run = with_three();
  run.is_not_heard(1);
  run.ready();
  all_are_up(run);
  run.says(1, {.number = 1, .step = survey_step::listen, .why = "not its address"});
  EXPECT_THAT(run.seen(), Not(Contains(HasSubstr("ending")))) << "b has not told of the others";
  run.says(1, {.number = 1, .step = survey_step::reach});
  run.pass_ms(2'000);
  run.says(1, {.number = 2, .step = survey_step::listen, .why = "not its address"});
  run.says(1, {.number = 2, .step = survey_step::reach});
  EXPECT_THAT(run.seen(),
              Contains("note host_unreached: a (at-a) does not reach b (at-b): no agent can "
                       "listen there: not its address"));
}

TEST(launch_surveys, whoever_is_lost_meanwhile_is_not_waited_for_and_counts_as_reached) {
  auto run = with_three();
  run.is_not_heard(1);
  run.is_apart(0, 1);
  run.ready();
  all_are_up(run);
  run.says(1, {.number = 1, .step = survey_step::listen, .port = 4000});
  EXPECT_THAT(run.seen(), Contains("a reaches b c"));
  run.host_is_lost(1);
  const auto seen = run.seen();
  EXPECT_THAT(seen, Not(Contains(HasSubstr("ending"))));
  EXPECT_THAT(seen, Contains("start shard-0 on a"));
}

TEST(launch_surveys, what_was_said_in_another_survey_or_step_does_not_count) {
  auto run = with_three();
  run.is_not_heard(1);
  run.ready();
  all_are_up(run);
  run.says(1, {.number = 0, .step = survey_step::listen, .port = 1});
  run.says(1, {.number = 1, .step = survey_step::reach});
  EXPECT_THAT(run.seen(), Not(Contains(HasSubstr("reaches"))));
}

TEST(launch_surveys, a_host_that_says_nothing_ends_the_start_by_its_time) {
  auto run = with_three();
  run.is_not_heard(1);
  run.ready();
  all_are_up(run);
  run.pass_ms(31'000);
  EXPECT_THAT(run.seen(),
              Contains("tidegate: these hosts have not said which others they reach: b within "
                       "30s (cluster.start_timeout)"));
}

TEST(launch_surveys, a_host_that_copies_files_is_waited_for) {
  auto run = with_three();
  run.ready();
  run.host_is_up(0);
  run.host_is_up(1);
  for (int i = 0; i < 4; ++i) {
    run.pass_ms(20'000);
    run.host_copies();
  }
  EXPECT_THAT(run.seen(), Not(Contains(HasSubstr("cluster.start_timeout"))));
  run.host_is_up(2);
  EXPECT_THAT(run.seen(), Contains("start shard-0 on a"));
}

TEST(launch_surveys, a_host_that_comes_back_is_used_once_it_reaches_the_others) {
  auto run = with_three();
  run.ready();
  all_are_up(run);
  run.says({running("mlp")});
  run.host_is_lost(2);
  run.is_apart(0, 2);
  run.seen();
  run.host_is_up(2);
  auto seen = run.seen();
  EXPECT_THAT(seen, IsSupersetOf({"a listens", "b listens", "c listens", "a reaches c",
                                  "b reaches c", "c reaches a b"}));
  EXPECT_THAT(seen,
              Contains("note host_unreached: a (at-a) does not reach c (at-c): no answer"));
  EXPECT_THAT(seen, Not(Contains("note host_back: c")));
  run.pass_ms(6'000);
  seen = run.seen();
  EXPECT_THAT(seen, Contains("a reaches c")) << "it is tried again";
  EXPECT_THAT(seen, Not(Contains(HasSubstr("host_unreached")))) << "and told once";
  run.is_reached(0, 2);
  run.pass_ms(6'000);
  EXPECT_THAT(run.seen(), Contains("note host_back: c"));
}

// Both are new to the survey that begins when the one before is over.
TEST(launch_surveys, of_two_that_come_back_and_do_not_reach_each_other_one_stays_out) {
  auto hosts = three_hosts;
  hosts.push_back({.name = "d", .room = {}});
  auto run = launched::on_far_hosts(hosts, {0, 1, 2, 3}, {{1, 2}, {2, 1}});
  run.ready();
  for (host_number host = 0; host < 4; ++host) run.host_is_up(host);
  run.says({running("mlp")});
  for (host_number host = 1; host < 4; ++host) run.host_is_lost(host);
  run.is_apart(1, 2);
  run.is_not_heard(0);
  run.seen();
  for (const host_number host : {3, 1, 2}) run.host_is_up(host);
  EXPECT_THAT(run.seen(), Not(Contains("b listens"))) << "d is surveyed";
  run.is_heard(0);
  run.says(0, {.number = 2, .step = survey_step::listen, .port = 4000});
  const auto seen = run.seen();
  EXPECT_THAT(seen, IsSupersetOf({"note host_back: d", "note host_back: b"}));
  EXPECT_THAT(seen,
              Contains("note host_unreached: b (at-b) does not reach c (at-c): no answer"));
  EXPECT_THAT(seen, Not(Contains("note host_back: c")));
}

TEST(launch_surveys, a_launcher_that_is_on_no_host_of_the_cluster_is_not_reached_for) {
  auto hosts = three_hosts;
  hosts[0].name = "outside";
  auto run = launched::on_far_hosts(hosts, {1, 2}, {{0, 1}});
  run.is_apart(0, 1);
  run.ready();
  all_are_up(run);
  run.pass_ms(2'000);
  const auto seen = run.seen();
  EXPECT_THAT(seen, Not(Contains("outside listens")));
  EXPECT_THAT(seen, IsSupersetOf({"outside reaches b", "b reaches c", "c reaches b"}));
  EXPECT_THAT(seen,
              Contains("note host_unreached: outside does not reach b (at-b): no answer"));
}

TEST(launch_surveys, a_message_names_so_many_pairs_and_events_all) {
  std::vector<launch_plan::host> hosts;
  std::vector<host_number> homes;
  std::set<std::pair<host_number, host_number>> needed;
  for (host_number host = 0; host < 10; ++host) {
    hosts.push_back({.name = "h" + std::to_string(host), .room = {}});
    homes.push_back(host);
    if (host > 0) needed.insert({{0, host}, {host, 0}});
  }
  auto run = launched::on_far_hosts(hosts, homes, needed);
  for (const auto& [from, to] : needed) run.is_apart(from, to);
  run.ready();
  for (host_number host = 0; host < 10; ++host) run.host_is_up(host);
  run.pass_ms(2'000);
  const auto seen = run.seen();
  EXPECT_THAT(seen, Contains(HasSubstr("; and 2 more, see the run's events; have every TCP")));
  EXPECT_EQ(
      std::count_if(seen.begin(), seen.end(),
                    [](const auto& line) { return line.starts_with("note host_unreached"); }),
      18);
}

// From the first agent that is there to the last process that is started.
TEST(launch_surveys, costs_a_host_as_many_orders_in_a_cluster_of_a_thousand) {
  const auto orders_of_each = [](host_number count) {
    std::vector<launch_plan::host> hosts;
    std::vector<host_number> homes;
    for (host_number host = 0; host < count; ++host) {
      hosts.push_back({.name = "h" + std::to_string(host), .room = {}});
      homes.push_back(host);
    }
    auto run = launched::on_far_hosts(hosts, homes, {});
    run.ready();
    for (host_number host = 0; host < count; ++host) run.host_is_up(host);
    const auto seen = run.seen();
    std::map<std::string, int> orders;
    for (const auto& line : seen) {
      const auto on = line.rfind(" on ");
      if (line.starts_with("start ") && on != std::string::npos) ++orders[line.substr(on + 4)];
      if (line.starts_with("h")) ++orders[line.substr(0, line.find(' '))];
    }
    EXPECT_EQ(orders.size(), count);
    return orders;
  };
  const auto few = orders_of_each(4);
  const auto many = orders_of_each(1000);
  for (const auto* host : {"h1", "h2", "h3"}) EXPECT_EQ(many.at(host), few.at(host)) << host;
  for (const auto& [host, orders] : many)
    if (host != "h0") {
      EXPECT_EQ(orders, few.at("h3")) << host;
    }
}

}  // namespace
}  // namespace tidegate::policies::tests
