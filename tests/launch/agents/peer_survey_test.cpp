// The part of an agent in surveys, beside others on this machine.
#include "launch/agents/peer_survey.hpp"

#include <gtest/gtest.h>

#include "actors/control/reach_peers.hpp"
#include "tests/support/listening_agent.hpp"

namespace tidegate::launch {
namespace {

using policies::survey_step;
using tests::listening_agent;

constexpr std::uint64_t token = 99;

policies::cluster_spec two_hosts(const std::string& second) {
  policies::cluster_spec cluster;
  cluster.hosts = {{"a", "127.0.0.1", {}}, {"b", second, {"env"}}};
  return cluster;
}

agent_links links_of_this_machine() {
  return {
      .listen = [](const std::string& host, std::uint16_t, const agent_link_options& options)
          -> runtime::expected<std::unique_ptr<agent_door>> {
        auto listener = runtime::listen_on(host, 0);
        if (!listener) return runtime::fail(listener.error());
        return std::make_unique<listening_agent>(std::move(*listener), options.token);
      },
      .connect = {},
      .reach = [](const std::vector<policies::peer_place>& peers, std::uint64_t run,
                  int stop) { return actors::reach_peers(peers, run, stop); }};
}

struct surveyed_hosts {
  explicit surveyed_hosts(const std::string& second = "127.0.0.2")
      : cluster(two_hosts(second)) {}

  static policies::agent_reports::surveyed next_of(peer_survey& of) {
    agent_turn turn;
    while (turn.reports.empty()) {
      std::vector<pollfd> fds;
      of.add_to(fds);
      if (::poll(fds.data(), fds.size(), 10'000) <= 0) break;
      of.read(turn);
    }
    EXPECT_EQ(turn.reports.size(), 1U);
    return std::get<policies::agent_reports::surveyed>(turn.reports.at(0));
  }

  policies::cluster_spec cluster;
  agent_links links = links_of_this_machine();
  peer_survey a{cluster, 0, links, {.token = token}};
  peer_survey b{cluster, 1, links, {.token = token}};
};

TEST(peer_survey, agents_reach_each_other_until_the_survey_is_over) {
  surveyed_hosts hosts;
  for (auto* each : {&hosts.a, &hosts.b})
    each->survey({.number = 1, .step = survey_step::listen});
  const auto at_a = surveyed_hosts::next_of(hosts.a);
  const auto at_b = surveyed_hosts::next_of(hosts.b);
  EXPECT_NE(at_a.port, 0);
  EXPECT_EQ(at_a.number, 1U);
  hosts.a.survey({.number = 1, .step = survey_step::reach, .peers = {{1, at_b.port}}});
  hosts.b.survey({.number = 1, .step = survey_step::reach, .peers = {{0, at_a.port}}});
  EXPECT_TRUE(surveyed_hosts::next_of(hosts.a).unreached.empty());
  const auto of_b = surveyed_hosts::next_of(hosts.b);
  EXPECT_TRUE(of_b.unreached.empty());
  EXPECT_EQ(of_b.step, survey_step::reach);
  hosts.b.survey({.number = 1, .step = survey_step::end});
  hosts.a.survey({.number = 2, .step = survey_step::reach, .peers = {{1, at_b.port}}});
  const auto again = surveyed_hosts::next_of(hosts.a);
  ASSERT_EQ(again.unreached.size(), 1U) << "b listens no longer";
  EXPECT_EQ(again.unreached[0].host, 1U);
}

TEST(peer_survey, says_why_it_cannot_listen) {
  surveyed_hosts hosts("192.0.2.1");  // of nobody
  hosts.b.survey({.number = 3, .step = survey_step::listen});
  const auto news = surveyed_hosts::next_of(hosts.b);
  EXPECT_EQ(news.port, 0);
  EXPECT_EQ(news.why, "listening on 192.0.2.1:0: Cannot assign requested address");
}

TEST(peer_survey, a_step_ends_with_the_next) {
  surveyed_hosts hosts;
  const auto silent = runtime::listen_on("127.0.0.2", 0);
  ASSERT_TRUE(silent);
  hosts.a.survey({.number = 1,
                  .step = survey_step::reach,
                  .peers = {{1, runtime::port_of(silent->get())}}});
  hosts.a.survey({.number = 2, .step = survey_step::listen});
  EXPECT_EQ(surveyed_hosts::next_of(hosts.a).number, 2U);
}

}  // namespace
}  // namespace tidegate::launch
