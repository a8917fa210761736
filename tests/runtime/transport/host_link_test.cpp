// What the link between processes of one host does beyond what every link does (link_test.cpp).
#include "runtime/transport/host_link.hpp"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <poll.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/rng.hpp"
#include "runtime/transport/null_link.hpp"
#include "runtime/transport/wakeup_pipe.hpp"
#include "tests/support/host_end.hpp"

namespace tidegate::runtime {
namespace {

using clock = std::chrono::steady_clock;
using tests::mapped_rings;
using tests::pull_of;
using tests::push_header;
using tests::recorder;
using tests::until;
using end = tests::host_end;

host_place place_of(const link& reached) {
  host_place place;
  std::memcpy(&place, reached.address().data(), sizeof place);
  return place;
}

TEST(host_link, who_waits_for_room_may_sleep_meanwhile) {
  end a, b;
  const auto to_b = a.connect(b);
  b.connect(a);
  ASSERT_TRUE(until(a, b, [&] { return b.self->progress() + a.self->progress() == 0; }));
  const std::vector<std::byte> large(4 << 20, std::byte{1});
  a.self->post(to_b, push_header(large.size(), 1), large, 5);
  const auto deadline = clock::now() + std::chrono::seconds(20);
  int slept = 0;
  while (b.sink.arrivals.empty() && clock::now() < deadline) {
    while (a.self->progress() > 0) continue;
    const bool armed = a.self->arm();
    do {
      b.self->progress();
    } while (!b.self->arm());
    if (!armed || !b.sink.arrivals.empty()) continue;
    ++slept;
    pollfd waits{.fd = a.self->event_fd(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&waits, 1, 10'000), 1) << "nobody rang";
  }
  ASSERT_EQ(b.sink.arrivals.size(), 1U);
  EXPECT_EQ(b.sink.arrivals[0].payload, large);
  EXPECT_GT(slept, 10);
}

TEST(host_link, that_a_living_process_has_closed_it_is_seen) {
  end a, b;
  a.connect(b);
  const auto address = a.self->address();
  EXPECT_FALSE(is_closed(address));
  a.self->close(0);
  EXPECT_TRUE(is_closed(address));
  EXPECT_FALSE(is_closed(b.self->address()));
  EXPECT_FALSE(is_closed("no address"));
}

// Its memory may be read until it has ended.
TEST(host_link, one_that_was_killed_has_given_nothing_up) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const auto child = ::fork();
  if (child == 0) {
    const auto pipe = wakeup_pipe::create();
    const auto name = pipe ? pipe->name() : wakeup_pipe_name{};
    if (::write(ends[1], &name, sizeof name) != sizeof name) std::_Exit(1);
    ::pause();
    std::_Exit(0);
  }
  wakeup_pipe_name name;
  ASSERT_EQ(::read(ends[0], &name, sizeof name), static_cast<ssize_t>(sizeof name));
  EXPECT_FALSE(is_gone(name));
  EXPECT_FALSE(is_given_up(name));
  ::kill(child, SIGKILL);
  // Dead, and not waited for: there is a process still, with no descriptors.
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(is_gone(name));
  EXPECT_FALSE(is_given_up(name));
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(is_given_up(name));
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(host_link, payload_of_its_own_memory_is_copied_once) {
  end a, b;
  const auto to_b = a.connect(b);
  b.connect(a);
  auto memory = a.self->memory()->allocate(1 << 20);
  ASSERT_TRUE(memory);
  std::memset(memory.data(), 3, memory.size());
  const auto part = memory.bytes().subspan(4096, 500'000);
  a.self->post(to_b, push_header(part.size(), 1), part, 9);
  a.self->progress();
  EXPECT_FALSE(a.sink.sent.contains(9)) << "it lies where it lay until it has been read";
  ASSERT_TRUE(until(a, b, [&] { return a.sink.sent.contains(9); }));
  ASSERT_EQ(b.sink.arrivals.size(), 1U);
  EXPECT_EQ(b.sink.arrivals[0].payload, std::vector(part.begin(), part.end()));
  EXPECT_EQ(b.self->counters().payload_bytes_copied, part.size());
}

TEST(host_link, who_is_disconnected_hears_of_it) {
  end a, b;
  const auto to_b = a.connect(b);
  const auto to_a = b.connect(a);
  a.self->post(to_b, pull_of(1), {}, 0);
  ASSERT_TRUE(until(a, b, [&] { return b.sink.arrivals.size() == 1; }));
  b.self->disconnect(to_a);
  ASSERT_TRUE(until(a, b, [&] { return !a.sink.lost.empty(); }));
  EXPECT_EQ(a.sink.lost, std::vector{to_b});
  EXPECT_EQ(a.sink.lost_why.back().code(), errc::unavailable) << "b lives";
  EXPECT_TRUE(b.sink.lost.empty());
  // And may come back.
  const auto again = a.connect(b);
  b.connect(a);
  a.self->post(again, pull_of(2), {}, 0);
  EXPECT_TRUE(until(a, b, [&] { return b.sink.arrivals.size() == 2; }));
}

// As by who gives up a connection that its peer was too busy to take, and makes another.
TEST(host_link, a_ring_that_was_given_up_before_it_was_read_costs_no_other) {
  end a, b;
  const auto to_b = a.connect(b);
  const auto given_up = b.connect(a);
  b.self->post(given_up, pull_of(1), {}, 0);
  b.self->progress();
  b.self->disconnect(given_up);
  b.self->progress();
  const auto to_a = b.connect(a);
  b.self->post(to_a, pull_of(2), {}, 0);
  a.self->post(to_b, pull_of(3), {}, 0);
  ASSERT_TRUE(
      until(a, b, [&] { return !a.sink.arrivals.empty() && !b.sink.arrivals.empty(); }));
  EXPECT_TRUE(a.sink.lost.empty());
  EXPECT_TRUE(b.sink.lost.empty());
  EXPECT_EQ(a.self->counters().frames_bad, 0U);
  EXPECT_EQ(mapped_rings(), 2 * 2U) << "each is mapped by its writer and its reader";
}

// Tells `writer` that `reader` does not read its first ring.
bool refuse_first_ring(const end& writer, const end& reader) {
  link_hello refusal;
  refusal.kind = note_kind::refusal;
  refusal.number = 0;
  refusal.from = place_of(*reader.self);
  const auto wakeup = wakeup_writer::open(place_of(*writer.self).pipe);
  return wakeup && wakeup->pull(refusal);
}

TEST(host_link, who_is_refused_one_ring_keeps_its_others) {
  end a, b;
  const auto first = a.connect(b);
  const auto second = a.connect(b);
  b.connect(a);
  a.self->post(second, pull_of(1), {}, 0);
  ASSERT_TRUE(until(a, b, [&] { return b.sink.arrivals.size() == 1; }));
  ASSERT_TRUE(refuse_first_ring(a, b));
  ASSERT_TRUE(until(a, b, [&] { return !a.sink.lost.empty(); }));
  EXPECT_EQ(a.sink.lost, std::vector{first});
  EXPECT_EQ(a.sink.lost_why.back().code(), errc::unavailable);
  a.self->post(second, pull_of(2), {}, 0);
  EXPECT_TRUE(until(a, b, [&] { return b.sink.arrivals.size() == 2; }));
}

// What comes from there ends with it, whichever of the two is seen first.
TEST(host_link, a_ring_that_is_given_up_and_refused_at_once_ends_both_ways) {
  end a, b;
  const auto to_b = a.connect(b);
  const auto to_a = b.connect(a);
  a.self->post(to_b, pull_of(1), {}, 0);
  b.self->post(to_a, pull_of(2), {}, 0);
  ASSERT_TRUE(
      until(a, b, [&] { return !a.sink.arrivals.empty() && !b.sink.arrivals.empty(); }));
  ASSERT_TRUE(until(a, a, [&] { return a.self->arm(); })) << "notes are read by who was asleep";
  ASSERT_TRUE(refuse_first_ring(a, b));
  a.self->disconnect(to_b);
  ASSERT_TRUE(until(a, b, [&] { return !b.sink.lost.empty(); }));
  EXPECT_EQ(b.sink.lost, std::vector{to_a});
  EXPECT_TRUE(a.sink.lost.empty());
}

// Its sender is stopped, and learns it when it goes on.
TEST(host_link, a_pipe_that_is_full_loses_no_refusal) {
  end a, b;
  const auto to_b = a.connect(b);
  const auto to_a = b.connect(a);
  a.self->post(to_b, pull_of(1), {}, 0);
  ASSERT_TRUE(until(a, b, [&] { return b.sink.arrivals.size() == 1; }));
  const auto wakeup = wakeup_writer::open(place_of(*a.self).pipe);
  ASSERT_TRUE(wakeup);
  while (wakeup->pull({})) continue;
  b.self->disconnect(to_a);
  b.self->progress();
  EXPECT_FALSE(b.self->arm()) << "it has something to say";
  EXPECT_TRUE(until(a, b, [&] { return !a.sink.lost.empty(); }));
  EXPECT_EQ(a.sink.lost, std::vector{to_b});
  EXPECT_TRUE(until(a, b, [&] { return b.self->arm(); }));
}

TEST(host_link, who_is_gone_already_is_lost_at_once) {
  end a;
  std::string address;
  {
    const end b;
    address = b.self->address();
  }
  const auto to_b = a.self->connect(address);
  ASSERT_TRUE(to_b) << to_b.error().message();
  a.self->post(*to_b, pull_of(1), {}, 6);
  a.self->progress();
  EXPECT_EQ(a.sink.lost, std::vector{*to_b});
  EXPECT_FALSE(a.sink.sent[6].ok());
}

TEST(host_link, one_who_is_connected_anew_before_the_old_ends_is_not_cut_off) {
  end a, b;
  const auto to_b = a.connect(b);
  const auto before = b.connect(a);
  b.connect(a);
  b.self->disconnect(before);
  ASSERT_TRUE(until(a, b, [&] { return a.self->progress() + b.self->progress() == 0; }));
  a.self->post(to_b, pull_of(1), {}, 0);
  EXPECT_TRUE(until(a, b, [&] { return b.sink.arrivals.size() == 1; }));
  EXPECT_TRUE(a.sink.lost.empty());
}

TEST(host_link, a_peer_of_another_network_is_reached_through_the_other_link) {
  loopback_network network;
  auto a = *make_host_link(network.make_link());
  auto b = *make_host_link(network.make_link());
  recorder at_a, at_b;
  a->set_sink(&at_a);
  b->set_sink(&at_b);
  const auto to_b = a->connect(b->address(), reach::network);
  const auto to_a = b->connect(a->address(), reach::network);
  ASSERT_TRUE(to_b && to_a);
  EXPECT_EQ(mapped_rings(), 0U);
  const std::vector<std::byte> payload(100'000, std::byte{2});
  a->post(*to_b, push_header(payload.size(), 1), payload, 4);
  ASSERT_TRUE(tests::until(*a, *b, [&] { return at_a.sent.contains(4); }));
  EXPECT_EQ(at_b.arrivals.size(), 1U);
  EXPECT_EQ(b->counters().frames_received, 1U);
}

TEST(host_link, a_peer_of_another_network_is_refused_where_all_are_on_one_host) {
  loopback_network network;
  auto alone = *make_host_link(*make_null_link());
  const auto other = *make_host_link(network.make_link());
  const auto refused = alone->connect(other->address(), reach::network);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), errc::unavailable);
  EXPECT_NE(refused.error().message().find("must be of one user"), std::string::npos);
}

TEST(host_link, what_was_lent_and_taken_back_is_not_taken_for_whole) {
  end a, b;
  const auto to_b = a.connect(b);
  b.connect(a);
  auto memory = a.self->memory()->allocate(1 << 20);
  a.self->post(to_b, pull_of(1), {}, 0);
  ASSERT_TRUE(until(a, b, [&] { return b.sink.arrivals.size() == 1; }));
  // While b is stopped it is taken for dead, and the memory is used for something else.
  a.self->post(to_b, push_header(memory.size(), 2), memory.bytes(), 9);
  a.self->disconnect(to_b);
  while (!a.sink.sent.contains(9)) a.self->progress();
  EXPECT_FALSE(a.sink.sent[9].ok());
  std::memset(memory.data(), 1, memory.size());
  for (int turn = 0; turn < 1000; ++turn) b.self->progress();
  EXPECT_EQ(b.sink.arrivals.size(), 1U);
}

TEST(host_link, one_that_is_stopped_is_woken_once_for_each_of_its_sleeps) {
  end a, b;
  const auto to_b = a.connect(b);
  b.connect(a);
  a.self->post(to_b, pull_of(1), {}, 0);
  ASSERT_TRUE(until(a, b, [&] { return b.sink.arrivals.size() == 1; }));
  ASSERT_TRUE(until(a, b, [&] { return b.self->arm(); }));
  for (std::uint64_t i = 0; i < 10'000; ++i) a.self->post(to_b, pull_of(i), {}, 0);
  end c;
  c.connect(b);
  EXPECT_TRUE(until(c, c, [&] { return c.self->arm(); })) << "b's pipe has room for its hello";
}

TEST(host_link, acknowledgements_alone_do_not_wake_the_patient) {
  end a, b;
  const auto to_b = a.connect(b);
  b.connect(a);
  a.self->post(to_b, pull_of(1), {}, 0);
  ASSERT_TRUE(until(a, b, [&] { return b.sink.arrivals.size() == 1; }));
  frame_header ack;
  ack.kind = frame_kind::doorbell_ack;
  auto refusal = ack;
  refusal.code = 7;
  for (const bool patient : {true, false}) {
    for (const auto& urgent : {pull_of(2), refusal}) {
      b.sink.arrivals.clear();
      b.self->set_patient(patient);
      ASSERT_TRUE(until(a, b, [&] { return b.self->arm(); }));
      pollfd waits{.fd = b.self->event_fd(), .events = POLLIN, .revents = 0};
      ASSERT_EQ(::poll(&waits, 1, 0), 0);
      a.self->post(to_b, ack, {}, 0);
      EXPECT_EQ(::poll(&waits, 1, 0), patient ? 0 : 1);
      a.self->post(to_b, urgent, {}, 0);
      EXPECT_EQ(::poll(&waits, 1, 0), 1);
      b.self->progress();
      EXPECT_EQ(b.sink.arrivals.size(), 2U);
    }
  }
}

// Whoever may open a wakeup pipe may write to it what it likes.
TEST(host_link, notes_that_make_no_sense_are_left_out) {
  end a, b;
  const auto to_b = a.connect(b);
  b.connect(a);
  a.self->post(to_b, pull_of(1), {}, 0);
  ASSERT_TRUE(until(a, b, [&] { return b.sink.arrivals.size() == 1; }));
  const auto place = place_of(*b.self);
  const auto wakeup = wakeup_writer::open(place.pipe);
  ASSERT_TRUE(wakeup);
  rng random(5);
  for (int round = 0; round < 2000; ++round) {
    link_hello note;
    auto bytes = std::as_writable_bytes(std::span(&note, 1));
    for (auto& byte : bytes) byte = static_cast<std::byte>(random.next());
    note.kind = static_cast<note_kind>(random.below(5));
    if (random.below(2) == 0) note.from = place;
    if (note.kind == note_kind::farewell || note.kind == note_kind::refusal) note.from.link = 1;
    wakeup->pull(note);
    b.self->progress();
    b.self->arm();
  }
  a.self->post(to_b, pull_of(2), {}, 0);
  EXPECT_TRUE(until(a, b, [&] { return b.sink.arrivals.size() == 2; }));
}

TEST(host_link, a_pipe_that_is_full_loses_no_introduction) {
  end a, b;
  const auto place = place_of(*b.self);
  const auto wakeup = wakeup_writer::open(place.pipe);
  ASSERT_TRUE(wakeup);
  while (wakeup->pull({})) continue;
  const auto to_b = a.connect(b);
  b.connect(a);
  a.self->post(to_b, pull_of(1), {}, 0);
  EXPECT_FALSE(a.self->arm()) << "it has something to say";
  EXPECT_TRUE(until(a, b, [&] { return b.sink.arrivals.size() == 1; }));
}

}  // namespace
}  // namespace tidegate::runtime
