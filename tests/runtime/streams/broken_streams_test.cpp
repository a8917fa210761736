// Connections over streams that break and are made again, and peers that only seem to be gone.
#include <chrono>
#include <functional>
#include <memory>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>

#include "runtime/streams/stream_link.hpp"
#include "tests/support/go_between.hpp"
#include "tests/support/link_recorder.hpp"

namespace tidegate::runtime {
namespace {

using clock = std::chrono::steady_clock;
using tests::go_between;
using tests::push_header;
using tests::recorder;

class broken_streams : public testing::Test {
 protected:
  void open(const stream_options& options = {}) {
    for (auto* each : {&a, &b}) {
      auto link = open_stream_link(options);
      ASSERT_TRUE(link) << link.error().message();
      *each = std::move(*link);
    }
    a->set_sink(&at_a);
    b->set_sink(&at_b);
  }
  bool until(const std::function<bool()>& condition) { return tests::until(*a, *b, condition); }
  // Returns true if a frame of `a` over this connection reaches `b`.
  bool arrives(peer_id to_b, std::uint64_t number) {
    const auto before = at_b.arrivals.size();
    a->post(to_b, push_header(payload_.size(), number), payload_, number);
    return until([&] { return at_b.arrivals.size() > before || !at_a.lost.empty(); }) &&
           at_b.arrivals.size() == before + 1;
  }
  // Each to the other, and a frame has come. Returns what `b` has made.
  peer_id connect_both() {
    const auto to_a = b->connect(a->address());
    const auto to_b = a->connect(b->address());
    EXPECT_TRUE(to_a && to_b && arrives(*to_b, 1));
    return to_a.value_or(0);
  }

  recorder at_a, at_b;
  std::unique_ptr<link> a, b;
  std::vector<std::byte> payload_ = std::vector<std::byte>(100'000, std::byte{0x5a});
};

// The other side has noticed first, and has made its own again.
TEST_F(broken_streams, giving_up_a_lost_connection_ends_nothing_that_was_made_since) {
  open();
  auto on_the_way = std::make_unique<go_between>(a->address(), nullptr);
  const auto to_a = b->connect(on_the_way->address());
  auto to_b = a->connect(b->address());
  ASSERT_TRUE(to_a && to_b);
  ASSERT_TRUE(arrives(*to_b, 1));
  b->post(*to_a, push_header(payload_.size(), 2), payload_, 2);
  ASSERT_TRUE(until([&] { return at_a.arrivals.size() == 1; }));
  on_the_way.reset();
  ASSERT_TRUE(until([&] { return at_b.lost.size() == 1; }));
  const auto again = a->connect(b->address());
  a->disconnect(*to_b);
  ASSERT_TRUE(arrives(*again, 3));
  b->disconnect(*to_a);
  for (int turn = 0; turn < 1000; ++turn) a->progress(), b->progress();
  EXPECT_TRUE(at_a.lost.empty()) << at_a.lost_why[0].message();
  EXPECT_TRUE(arrives(*again, 4));
}

TEST_F(broken_streams, giving_up_a_connection_that_lives_ends_what_its_peer_has_made) {
  open();
  const auto to_a = connect_both();
  b->disconnect(to_a);
  EXPECT_TRUE(until([&] { return at_a.lost.size() == 1; }));
}

// Its kernel acknowledges, whatever its process does. (Of probes that come within half a second
// of each other Linux answers one.)
TEST_F(broken_streams, a_peer_that_does_not_read_for_a_while_is_not_lost) {
  constexpr std::uint32_t silent_ms = 2'000;
  open({.silent_ms = silent_ms});
  const auto to_b = a->connect(b->address());
  ASSERT_TRUE(to_b);
  ASSERT_TRUE(arrives(*to_b, 1));
  const std::vector<std::byte> much(32U << 20U);
  a->post(*to_b, push_header(much.size(), 2), much, 2);
  const auto enough = clock::now() + std::chrono::milliseconds(5 * silent_ms / 2);
  while (clock::now() < enough) a->progress();
  EXPECT_TRUE(at_a.lost.empty()) << at_a.lost_why[0].message();
  EXPECT_TRUE(until([&] { return at_b.arrivals.size() == 2; }));
}

// A worker's loaders are forked, and have what it had open.
TEST_F(broken_streams, a_connection_ends_although_a_forked_process_has_it_too) {
  open();
  const auto to_a = connect_both();
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  b->disconnect(to_a);
  EXPECT_TRUE(until([&] { return at_a.lost.size() == 1; }));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace tidegate::runtime
