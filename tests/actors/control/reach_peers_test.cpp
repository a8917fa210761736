// Whether the agents of other hosts are reached, over sockets of this machine.
#include "actors/control/reach_peers.hpp"

#include <poll.h>
#include <sys/eventfd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/listening_agent.hpp"

namespace tidegate::actors {
namespace {

using policies::peer_place;
using testing::HasSubstr;
using tests::listening_agent;

constexpr std::uint64_t run_token = 4711;
constexpr reach_limits short_limits{.connect_ms = 300, .prove_ms = 300};

struct reach_peers_test : testing::Test {
  std::vector<policies::unreached_host> reach(const std::vector<peer_place>& peers,
                                              const reach_limits& limits = {}) const {
    return reach_peers(peers, run_token, stop.get(), limits);
  }
  std::string why_not(const std::string& address, std::uint16_t port,
                      const reach_limits& limits = {}) const {
    const auto unreached = reach({{.host = 7, .address = address, .port = port}}, limits);
    if (unreached.empty()) return "it was";
    EXPECT_EQ(unreached[0].host, 7U);
    return unreached[0].why;
  }

  runtime::unique_fd stop{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
};

runtime::unique_fd listener_at(const std::string& address) {
  auto listener = runtime::listen_on(address, 0);
  EXPECT_TRUE(listener) << address;
  return listener ? std::move(*listener) : runtime::unique_fd();
}

TEST_F(reach_peers_test, reaches_agents_of_its_run) {
  std::vector<std::unique_ptr<listening_agent>> agents;
  std::vector<peer_place> places;
  for (policies::host_number host = 1; host <= 31; ++host) {
    agents.push_back(listening_agent::at("127.0.0.1", run_token));
    places.push_back({.host = host, .address = "127.0.0.1", .port = agents.back()->port()});
  }
  EXPECT_TRUE(reach(places).empty());
}

TEST_F(reach_peers_test, speaks_version_6) {
  const auto agent = listening_agent::at("::1", run_token);
  if (!agent) GTEST_SKIP() << "this machine has no IPv6";
  EXPECT_EQ(why_not("::1", agent->port()), "it was");
}

// It may stand for ::1 first, where nobody listens.
TEST_F(reach_peers_test, tries_each_address_of_a_name) {
  const auto agent = listening_agent::at("127.0.0.1", run_token);
  EXPECT_EQ(why_not("localhost", agent->port()), "it was");
}

TEST_F(reach_peers_test, says_why_one_is_not_reached) {
  const auto stranger = listening_agent::at("127.0.0.1", run_token + 1);
  const auto unreached = reach({{.host = 1, .address = "127.0.0.1", .port = stranger->port()},
                                {.host = 3, .address = "no.such.host.invalid", .port = 1}});
  ASSERT_EQ(unreached.size(), 2U);
  EXPECT_EQ(unreached[0].why,
            "at port " + std::to_string(stranger->port()) +
                ": it closed the connection: it ends, or is of another run (TIDEGATE_TOKEN)");
  EXPECT_THAT(unreached[1].why, HasSubstr("the address 'no.such.host.invalid': "));
}

TEST_F(reach_peers_test, a_port_at_which_nobody_listens_refuses) {
  auto listener = listener_at("127.0.0.1");
  const auto port = runtime::port_of(listener.get());
  listener.reset();
  EXPECT_EQ(why_not("127.0.0.1", port),
            "at port " + std::to_string(port) + ": Connection refused");
}

TEST_F(reach_peers_test, one_that_listens_and_says_nothing_is_not_reached) {
  const auto silent = listener_at("127.0.0.1");
  EXPECT_THAT(why_not("127.0.0.1", runtime::port_of(silent.get()), short_limits),
              HasSubstr(": it listens and says nothing for 300 ms"));
}

TEST_F(reach_peers_test, something_else_that_answers_is_not_reached) {
  const auto other = listener_at("127.0.0.1");
  std::thread greets([&] {
    if (!runtime::is_ready(other.get(), POLLIN, 10'000)) return;
    const runtime::unique_fd caller(::accept4(other.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const std::string text = "SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3 and more of that\r\n";
    ::send(caller.get(), text.data(), text.size(), MSG_NOSIGNAL);
    char byte = 0;
    (void)::recv(caller.get(), &byte, 1, 0);  // until the other side has closed
  });
  EXPECT_THAT(why_not("127.0.0.1", runtime::port_of(other.get())),
              HasSubstr(": no agent of this run: it speaks another version of the handshake, "
                        "or is no process of Tidegate"));
  greets.join();
}

// A listener whose queue is full drops what comes, as a firewall does.
TEST_F(reach_peers_test, one_that_drops_what_is_sent_is_given_up) {
  const auto full = listener_at("127.0.0.1");
  ASSERT_EQ(::listen(full.get(), 0), 0);
  const auto port = runtime::port_of(full.get());
  const auto addresses = runtime::resolve("127.0.0.1", port);
  ASSERT_TRUE(addresses);
  std::vector<runtime::unique_fd> waiting;
  for (int i = 0; i < 4; ++i) {
    auto begun = runtime::begin_to_connect(**addresses);
    ASSERT_TRUE(begun);
    waiting.push_back(std::move(*begun));
  }
  EXPECT_EQ(why_not("127.0.0.1", port, short_limits),
            "at port " + std::to_string(port) +
                ": no answer within 300 ms, as where a firewall drops what is sent");
}

TEST_F(reach_peers_test, ends_early_where_it_is_asked_to) {
  const auto silent = listener_at("127.0.0.1");
  std::thread ends([&] { ::eventfd_write(stop.get(), 1); });
  EXPECT_EQ(why_not("127.0.0.1", runtime::port_of(silent.get()), {.prove_ms = 600'000}),
            "it was")
      << "nothing is said of what is not known";
  ends.join();
}

}  // namespace
}  // namespace tidegate::actors
