// Strangers at the port of a link over streams, and somebody between two links.
#include <array>
#include <chrono>
#include <memory>
#include <poll.h>
#include <random>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "runtime/sockets/tcp_socket.hpp"
#include "runtime/streams/stream_address.hpp"
#include "runtime/streams/stream_handshake.hpp"
#include "runtime/streams/stream_link.hpp"
#include "tests/support/go_between.hpp"
#include "tests/support/link_recorder.hpp"

namespace tidegate::runtime {
namespace {

using clock = std::chrono::steady_clock;
using tests::call;
using tests::go_between;
using tests::push_header;
using tests::recorder;

class hostile_streams : public testing::Test {
 protected:
  static std::unique_ptr<link> make(const stream_options& options = {}) {
    auto link = open_stream_link(options);
    EXPECT_TRUE(link) << link.error().message();
    return std::move(*link);
  }
  void open(const stream_options& options = {}) {
    a = make(options);
    b = make(options);
    a->set_sink(&at_a);
    b->set_sink(&at_b);
  }
  bool until(const std::function<bool()>& condition) { return tests::until(*a, *b, condition); }
  // Returns true if a frame of `a` over this connection reaches `b` whole.
  bool arrives(peer_id to_b, std::uint64_t number) {
    std::vector<std::byte> payload(100'000, std::byte{0x5a});
    const auto before = at_b.arrivals.size();
    a->post(to_b, push_header(payload.size(), number), payload, 1000 + number);
    return until([&] { return at_b.arrivals.size() > before || !at_a.lost.empty(); }) &&
           at_b.arrivals.size() == before + 1 && at_b.arrivals.back().payload == payload;
  }
  // Progresses `b` until the other end has closed this connection.
  bool is_closed(int connection) {
    const auto deadline = clock::now() + std::chrono::seconds(10);
    while (clock::now() < deadline) {
      b->progress();
      char byte = 0;
      const auto got = ::recv(connection, &byte, 1, MSG_DONTWAIT);
      if (got == 0 || (got < 0 && errno != EAGAIN)) return true;
    }
    return false;
  }

  recorder at_a, at_b;
  std::unique_ptr<link> a, b;
};

TEST_F(hostile_streams, random_bytes_cost_nobody_anything) {
  open();
  const auto where = parse_stream_address(b->address()).value();
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    const auto stranger = call(where);
    std::vector<char> bytes(random() % 300 + 150);
    for (auto& byte : bytes) byte = static_cast<char>(random());
    if (round % 2 == 0) bytes[0] = 1;  // the right version
    ASSERT_GT(::send(stranger.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), 0);
    EXPECT_TRUE(is_closed(stranger.get())) << round;
  }
  EXPECT_TRUE(at_b.arrivals.empty());
  EXPECT_TRUE(at_b.bad.empty()) << "no frame of a stranger is looked at";
  const auto to_b = a->connect(b->address());
  EXPECT_TRUE(arrives(*to_b, 1));
}

TEST_F(hostile_streams, strangers_that_say_nothing_keep_nobody_out_and_leave) {
  stream_options options;
  options.strangers = {
      .strangers_max = 8, .handshake_ns = 500'000'000, .crowded_ns = 1'000'000};
  open(options);
  const auto where = parse_stream_address(b->address()).value();
  std::vector<unique_fd> strangers;
  for (int i = 0; i < 40; ++i) {
    strangers.push_back(call(where));
    b->progress();
  }
  EXPECT_TRUE(arrives(*a->connect(b->address()), 1));
  for (const auto& stranger : strangers) {
    std::array<char, stream_challenge_bytes> challenge{};
    (void)::recv(stranger.get(), challenge.data(), challenge.size(), MSG_DONTWAIT);
    EXPECT_TRUE(is_closed(stranger.get()));
  }
}

TEST_F(hostile_streams, a_link_of_another_run_reaches_nobody) {
  open();
  stream_options other;
  other.key[0] = std::byte{1};
  a = make(other);
  a->set_sink(&at_a);
  const auto to_b = a->connect(b->address());
  ASSERT_TRUE(to_b);
  std::vector<std::byte> payload(100);
  a->post(*to_b, push_header(payload.size(), 1), payload, 5);
  ASSERT_TRUE(until([&] { return at_a.sent.contains(5) && !at_a.lost.empty(); }));
  EXPECT_FALSE(at_a.sent[5].ok());
  EXPECT_THAT(at_a.lost_why[0].message(), testing::HasSubstr("another run"));
  EXPECT_TRUE(at_b.arrivals.empty());
}

TEST_F(hostile_streams, an_address_whose_link_has_gone_leads_to_nobody_else) {
  open();
  auto gone = parse_stream_address(b->address()).value();
  ++gone.link;  // another link has its port now
  ASSERT_TRUE(a->connect(to_string(gone)));
  EXPECT_TRUE(until([&] { return at_a.lost.size() == 1; }));
  EXPECT_TRUE(at_b.arrivals.empty());
}

TEST_F(hostile_streams, one_that_seals_and_one_that_does_not_do_not_meet) {
  open();
  a = make({.sealed = true});
  a->set_sink(&at_a);
  ASSERT_TRUE(a->connect(b->address()));
  ASSERT_TRUE(until([&] { return at_a.lost.size() == 1; }));
  EXPECT_THAT(at_a.lost_why[0].message(), testing::HasSubstr("one end encrypts"));
}

TEST_F(hostile_streams, who_listens_and_proves_nothing_is_given_up_in_time) {
  const auto listener = listen_on("127.0.0.1", 0);
  ASSERT_TRUE(listener);
  open({.silent_ms = 200});
  const stream_address silent{
      .link = 1, .port = port_of(listener->get()), .hosts = {"127.0.0.1"}};
  ASSERT_TRUE(a->connect(to_string(silent)));
  ASSERT_TRUE(until([&] { return at_a.lost.size() == 1; }));
  EXPECT_THAT(at_a.lost_why[0].message(), testing::HasSubstr("proves nothing"));
}

const std::string& secret_words() {
  static const std::string words = "parameters that nobody is to read on the way";
  return words;
}

std::vector<std::byte> secret_payload() {
  std::string text;
  while (text.size() < 200'000) text += secret_words();
  text.resize(200'000);
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

TEST_F(hostile_streams, who_stands_between_sealed_links_reads_nothing) {
  for (const bool sealed : {false, true}) {
    at_b.arrivals.clear();
    open({.sealed = sealed});
    go_between between(b->address(), {});
    const auto to_b = a->connect(between.address());
    const auto payload = secret_payload();
    a->post(*to_b, push_header(payload.size(), 1), payload, 1);
    ASSERT_TRUE(until([&] { return at_b.arrivals.size() == 1; }));
    EXPECT_EQ(at_b.arrivals[0].payload, payload);
    const auto said = between.said();
    EXPECT_EQ(said.find(secret_words()) == std::string::npos, sealed);
    EXPECT_EQ(said.find("TDG1") == std::string::npos, sealed) << "nor that these are frames";
    a.reset();
    b.reset();
  }
}

// Wherever it is: in the handshake, a header, a payload, a tag.
TEST_F(hostile_streams, any_byte_that_is_changed_between_sealed_links_ends_the_connection) {
  const auto payload = secret_payload();
  for (const std::size_t at : {1U, 30U, 70U, 119U, 121U, 200U, 216U, 231U, 232U, 5'000U,
                               65'768U, 65'784U, 100'000U, 200'250U}) {
    at_a = {};
    at_b = {};
    open({.sealed = true});
    go_between between(b->address(), [at](std::vector<char>& bytes, std::size_t before) {
      if (at >= before && at < before + bytes.size()) bytes[at - before] ^= 1;
    });
    const auto to_b = a->connect(between.address());
    a->post(*to_b, push_header(payload.size(), 1), payload, 1);
    ASSERT_TRUE(until([&] { return !at_a.lost.empty() || !at_b.bad.empty(); })) << at;
    for (int turn = 0; turn < 100; ++turn) b->progress();
    EXPECT_TRUE(at_b.arrivals.empty()) << at;
    EXPECT_EQ(at_b.places.size(), at_b.frames_lost.size()) << at;
    a.reset();
    b.reset();
  }
}

TEST_F(hostile_streams, what_was_recorded_is_worth_nothing_later) {
  open({.sealed = true});
  std::string said;
  {
    go_between between(b->address(), {});
    const auto to_b = a->connect(between.address());
    ASSERT_TRUE(arrives(*to_b, 1));
    said = between.said();
  }
  const auto stranger = call(parse_stream_address(b->address()).value());
  ASSERT_GT(::send(stranger.get(), said.data(), 4096, MSG_NOSIGNAL), 0);
  EXPECT_TRUE(is_closed(stranger.get()));
  EXPECT_EQ(at_b.arrivals.size(), 1U);
}

}  // namespace
}  // namespace tidegate::runtime
