// The door of the control port with real sockets: who gets through, and who does not.
#include "actors/control/gate.hpp"

#include <array>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <string>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <caf/all.hpp>
#include <gmock/gmock.h>

#include "actors/control/system.hpp"
#include "actors/node/coordinator_actor.hpp"
#include "runtime/sockets/tcp_socket.hpp"
#include "tests/support/local_cluster.hpp"

namespace tidegate::actors {
namespace {

using runtime::errc;
using runtime::unique_fd;
using testing::HasSubstr;

constexpr std::uint64_t token = 0x1234'5678'9abc'def0;
constexpr control_options of_run{.token = token, .connect_ms = 5'000, .unreachable_ms = 7'000};

int option(int connection, int level, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  EXPECT_EQ(::getsockopt(connection, level, name, &value, &size), 0);
  return value;
}

bool is_readable(int fd) {
  pollfd waited{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&waited, 1, 10'000) == 1;
}

class control_gate_test : public testing::Test {
 protected:
  void SetUp() override {
    auto listener = runtime::listen_on("127.0.0.1", 0);
    ASSERT_TRUE(listener) << listener.error().message();
    port = runtime::port_of(listener->get());
    ASSERT_NE(port, 0);
    auto opened = control_gate::open(std::move(*listener), of_run);
    ASSERT_TRUE(opened) << opened.error().message();
    gate = std::move(*opened);
    proven = unique_fd(gate->release_proven());
  }

  unique_fd taken() {
    EXPECT_TRUE(is_readable(proven.get())) << "nobody came through";
    return control_gate::take(proven.get());
  }

  // A connection that says this and nothing more.
  unique_fd stranger(const std::string& says) const {
    unique_fd connection(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(connection.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to),
              0);
    (void)::send(connection.get(), says.data(), says.size(), MSG_NOSIGNAL);
    return connection;
  }

  std::uint16_t port = 0;
  std::unique_ptr<control_gate> gate;
  unique_fd proven;
};

// A child has what its parent had open, until it runs its program.
TEST_F(control_gate_test, is_not_misled_by_a_stranger_that_a_child_has_too) {
  const auto leaves = stranger("");
  EXPECT_TRUE(is_readable(leaves.get())) << "the challenge";
  const auto child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::pause();
    ::_exit(0);
  }
  ::shutdown(leaves.get(), SHUT_RDWR);
  for (int i = 0; i < 3; ++i) {
    const auto member = connect_proven("127.0.0.1", port, of_run);
    ASSERT_TRUE(member) << member.error().message();
    EXPECT_TRUE(taken());
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST_F(control_gate_test, hands_on_who_knows_the_token_and_reads_no_byte_beyond) {
  auto caller = connect_proven("127.0.0.1", port, of_run);
  ASSERT_TRUE(caller) << caller.error().message();
  const auto accepted = taken();
  ASSERT_TRUE(accepted);
  const std::string text = "for CAF alone";
  ASSERT_EQ(::send(caller->get(), text.data(), text.size(), 0),
            static_cast<ssize_t>(text.size()));
  ASSERT_TRUE(is_readable(accepted.get()));
  std::array<char, 64> got{};
  const auto size = ::recv(accepted.get(), got.data(), got.size(), 0);
  EXPECT_EQ(std::string(got.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))),
            text);
}

TEST_F(control_gate_test, sets_both_ends_to_notice_a_host_that_is_gone) {
  auto caller = connect_proven("127.0.0.1", port, of_run);
  ASSERT_TRUE(caller);
  const auto accepted = taken();
  for (const int end : {caller->get(), accepted.get()}) {
    EXPECT_EQ(option(end, IPPROTO_TCP, TCP_USER_TIMEOUT), 7'000);
    EXPECT_EQ(option(end, IPPROTO_TCP, TCP_NODELAY), 1);
    EXPECT_EQ(option(end, SOL_SOCKET, SO_KEEPALIVE), 1);
    EXPECT_LE(option(end, IPPROTO_TCP, TCP_KEEPIDLE), 7);
    EXPECT_LE(option(end, IPPROTO_TCP, TCP_KEEPINTVL), 7);
  }
}

TEST_F(control_gate_test, closes_a_caller_with_another_token) {
  auto other = of_run;
  other.token ^= 1;
  const auto caller = connect_proven("127.0.0.1", port, other);
  ASSERT_FALSE(caller);
  EXPECT_EQ(caller.error().code(), errc::unavailable);
  EXPECT_THAT(caller.error().message(), HasSubstr("of another run (TIDEGATE_TOKEN)"));
  EXPECT_FALSE(control_gate::take(proven.get())) << "it was not handed on";
}

TEST_F(control_gate_test, lets_in_who_is_honest_beside_many_who_say_nothing) {
  std::vector<unique_fd> silent;
  for (int i = 0; i < 400; ++i) silent.push_back(stranger(""));
  const auto caller = connect_proven("127.0.0.1", port, of_run);
  ASSERT_TRUE(caller) << caller.error().message();
  EXPECT_TRUE(taken());
}

TEST_F(control_gate_test, closes_who_says_something_else) {
  for (const auto& says : {std::string(112, '\0'), std::string(1 << 20, '\x55')}) {
    const auto other = stranger(says);
    std::array<char, policies::challenge_bytes + 1> got{};
    ssize_t size = 1;
    while (size > 0) size = ::recv(other.get(), got.data(), got.size(), 0);
    EXPECT_LE(size, 0) << "the end of the connection";
  }
  EXPECT_FALSE(control_gate::take(proven.get()));
}

TEST_F(control_gate_test, closes_the_port_at_its_end) {
  gate.reset();
  const auto caller = connect_proven("127.0.0.1", port, of_run);
  ASSERT_FALSE(caller);
  EXPECT_EQ(caller.error().code(), errc::unavailable);
}

// What listens at the port of a coordinator that has died.
TEST(control_connection, gives_up_a_listener_that_proves_nothing) {
  auto listener = runtime::listen_on("127.0.0.1", 0);
  ASSERT_TRUE(listener);
  auto options = of_run;
  options.connect_ms = 100;
  const auto port = runtime::port_of(listener->get());
  const auto silent = connect_proven("127.0.0.1", port, options);
  ASSERT_FALSE(silent);
  EXPECT_THAT(silent.error().message(), HasSubstr("it listens and says nothing"));
  // The other takes part in the handshake, under a token of its own.
  policies::nonce drawn{};
  policies::listener_handshake impostor(token + 1, drawn);
  std::thread serves([&] {
    unique_fd first(::accept(listener->get(), nullptr, nullptr));  // the silent one's
    ASSERT_TRUE(is_readable(listener->get()));
    unique_fd connection(::accept(listener->get(), nullptr, nullptr));
    const auto challenge = impostor.challenge();
    ASSERT_GT(::send(connection.get(), challenge.data(), challenge.size(), MSG_NOSIGNAL), 0);
    std::array<std::byte, policies::response_bytes> response{};
    ASSERT_EQ(::recv(connection.get(), response.data(), response.size(), MSG_WAITALL),
              static_cast<ssize_t>(response.size()));
    impostor.take(response);
    const auto confirmation = impostor.confirmation();
    (void)::send(connection.get(), confirmation.data(), confirmation.size(), MSG_NOSIGNAL);
    std::byte more{};
    EXPECT_EQ(::recv(connection.get(), &more, 1, 0), 0) << "it hears no more";
  });
  options.connect_ms = 10'000;
  const auto wrong = connect_proven("127.0.0.1", port, options);
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message(), HasSubstr("no proof of this run's token"));
  serves.join();
}

// Somebody has taken the port of an agent over, and brings its callers to the coordinator's.
TEST_F(control_gate_test, proves_nothing_to_a_caller_of_another_port) {
  const auto taken_over = runtime::listen_on("127.0.0.1", 0);
  ASSERT_TRUE(taken_over);
  std::thread relays([&] {
    const unique_fd caller(::accept(taken_over->get(), nullptr, nullptr));
    const auto all = runtime::resolve("127.0.0.1", port);
    const auto coordinator = runtime::connect_to(**all, 5'000);
    ASSERT_TRUE(coordinator);
    std::array<char, 256> bytes{};
    for (auto from = coordinator->get(), into = caller.get();
         runtime::is_ready(from, POLLIN, 5'000); std::swap(from, into)) {
      const auto got = ::recv(from, bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (got <= 0) return;
      (void)::send(into, bytes.data(), static_cast<std::size_t>(got), MSG_NOSIGNAL);
    }
  });
  const auto brought = connect_proven("127.0.0.1", runtime::port_of(taken_over->get()), of_run);
  EXPECT_FALSE(brought);
  relays.join();
  EXPECT_FALSE(control_gate::take(proven.get())) << "the coordinator took it for proven";
}

TEST_F(control_gate_test, of_an_agent_is_no_coordinators) {
  auto options = of_run;
  options.listener = "agent";
  EXPECT_FALSE(connect_proven("127.0.0.1", port, options));
}

TEST(control_connection, says_why_it_cannot_listen) {
  const auto taken = runtime::listen_on("127.0.0.1", 0);
  ASSERT_TRUE(taken);
  const auto again = runtime::listen_on("127.0.0.1", runtime::port_of(taken->get()));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), errc::already_exists);
  EXPECT_THAT(again.error().message(), HasSubstr("Address already in use"));
  EXPECT_FALSE(runtime::listen_on("192.0.2.77", 0)) << "not of this host";
}

// Two processes of CAF in one: the coordinator's and another's.
class both_planes : public testing::TestWithParam<bool> {};

TEST_P(both_planes, carries_requests_between_processes_of_one_run_alone) {
  process_system server(token, GetParam());
  const auto coordinator = spawn_coordinator(server.get(), tests::small_cluster(1, 1, {}),
                                             policies::message_token(token));
  const auto port = server.control().publish(coordinator, "127.0.0.1", 0);
  ASSERT_TRUE(port) << port.error().message();
  {
    process_system stranger(token + 1, GetParam());
    const auto refused = stranger.control().connect("127.0.0.1", *port);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), errc::unavailable);
  }
  {
    process_system client(token, GetParam());
    const auto found = client.control().connect("127.0.0.1", *port);
    ASSERT_TRUE(found) << found.error().message();
    caf::scoped_actor self(client.get());
    bool answered = false;
    self->request(*found, std::chrono::seconds(10), status_atom::value,
                  policies::message_token(token), std::uint64_t{0})
        .receive([&](const policies::cluster_status&) { answered = true; },
                 [&](const caf::error&) {});
    EXPECT_TRUE(answered);
  }
  caf::scoped_actor self(server.get());
  self->send_exit(coordinator, caf::exit_reason::user_shutdown);
  self->wait_for(coordinator);
}

INSTANTIATE_TEST_SUITE_P(control_plane, both_planes, testing::Bool(), [](const auto& instance) {
  return std::string(instance.param ? "encrypted" : "plain");
});

}  // namespace
}  // namespace tidegate::actors
