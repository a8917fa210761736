// What is left when the process at the other end has died, over UCX.
#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <sys/shm.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/ucx/ucx_link.hpp"
#include "runtime/ucx/ucx_queue.hpp"
#include "tests/support/link_recorder.hpp"

namespace tidegate::runtime {
namespace {

using clock = std::chrono::steady_clock;
using tests::push_header;
using tests::recorder;

class ucx_links : public testing::Test {
 protected:
  void SetUp() override {
    auto one = make_ucx_link();
    auto other = make_ucx_link();
    ASSERT_TRUE(one && other);
    a = std::move(*one);
    b = std::move(*other);
    a->set_sink(&at_a);
    b->set_sink(&at_b);
    const auto there = a->connect(b->address());
    const auto back = b->connect(a->address());
    ASSERT_TRUE(there && back);
    to_b = *there;
    to_a = *back;
  }
  recorder at_a, at_b;
  std::unique_ptr<link> a, b;
  peer_id to_b = 0, to_a = 0;
};

// As after kill -9 of `a` in the middle of a frame, which shared memory does not tell of.
TEST_F(ucx_links, what_is_under_way_ends_when_a_dead_peer_is_disconnected) {
  frame_header header;
  header.kind = frame_kind::pull;
  a->post(to_b, header, {}, 0);
  b->post(to_a, header, {}, 0);
  ASSERT_TRUE(tests::until(
      *a, *b, [&] { return at_a.arrivals.size() == 1 && at_b.arrivals.size() == 1; }));
  std::vector<std::byte> payload(4 << 20);
  a->post(to_b, push_header(payload.size(), 1), payload, 1);
  b->post(to_a, push_header(payload.size(), 2), payload, 2);
  ASSERT_TRUE(tests::until(*a, *b, [&] { return !at_b.places.empty(); }));
  for (int turn = 0; turn < 1000; ++turn) b->progress();
  ASSERT_TRUE(at_b.frames_lost.empty()) << "nobody has noticed";

  b->disconnect(to_a);
  b->disconnect(to_a);
  EXPECT_TRUE(at_b.frames_lost.empty()) << "told in progress()";
  const auto told = clock::now() + std::chrono::seconds(10);
  while ((at_b.frames_lost.empty() || at_b.sent.empty()) && clock::now() < told) b->progress();
  ASSERT_EQ(at_b.frames_lost, std::vector{push_header(payload.size(), 1)});
  EXPECT_TRUE(at_b.sent.contains(2));
  EXPECT_TRUE(at_b.lost.empty()) << "who says so knows";
  b->post(to_a, push_header(payload.size(), 3), payload, 3);
  while (!at_b.sent.contains(3) && clock::now() < told) b->progress();
  EXPECT_FALSE(at_b.sent[3].ok()) << "as to any lost peer";

  const auto made = make_ucx_link();
  ASSERT_TRUE(made);
  auto* c = made->get();
  recorder at_c;
  c->set_sink(&at_c);
  const auto to_c = b->connect(c->address());
  const auto from_c = c->connect(b->address());
  ASSERT_TRUE(to_c && from_c);
  b->post(*to_c, push_header(payload.size(), 4), payload, 4);
  while (at_c.arrivals.empty() && clock::now() < told) b->arm(), b->progress(), c->progress();
  EXPECT_EQ(at_c.arrivals.size(), 1U) << "to others all goes on";
}

// The queues of this process in System V shared memory, whose first word is how many messages
// were begun, as UCX 1.13.1 has them.
std::vector<std::uint64_t*> own_queues() {
  std::vector<std::uint64_t*> found;
  std::ifstream segments("/proc/sysvipc/shm");
  std::string line;
  std::getline(segments, line);
  while (std::getline(segments, line)) {
    std::istringstream words(line);
    std::string key, mode;
    std::uint64_t bytes = 0;
    int id = 0, maker = 0;
    words >> key >> id >> mode >> bytes >> maker;
    if (maker != getpid() || bytes > 65'536) continue;
    if (auto* at = shmat(id, nullptr, 0); at != reinterpret_cast<void*>(-1))
      found.push_back(static_cast<std::uint64_t*>(at));
  }
  return found;
}

// A process that is killed between taking a place in the queue and writing there.
TEST(ucx_link, who_can_receive_nothing_any_more_is_told_so) {
  int told = 0;
  ucx_options options;
  options.on_stuck = [&] { ++told; };
  options.stuck_after_ms = 20;
  auto a = make_ucx_link();
  auto b = open_ucx_link(options);
  ASSERT_TRUE(a && b);
  recorder at_a, at_b;
  (*a)->set_sink(&at_a);
  (*b)->set_sink(&at_b);
  const auto to_b = (*a)->connect((*b)->address());
  const auto to_a = (*b)->connect((*a)->address());
  ASSERT_TRUE(to_a && to_b);
  const auto deadline = clock::now() + std::chrono::seconds(10);
  frame_header header;
  header.kind = frame_kind::pull;
  (*a)->post(*to_b, header, {}, 0);
  (*b)->post(*to_a, header, {}, 0);
  const auto goes_on = [&] {
    (*a)->progress();
    (*b)->progress();
    (*b)->arm();
    return clock::now() < deadline;
  };
  while ((at_b.arrivals.empty() || at_a.arrivals.empty()) && goes_on()) continue;
  for (int turn = 0; turn < 5000; ++turn) goes_on();
  EXPECT_EQ(told, 0);
  EXPECT_FALSE(has_blocked_queue());
  const auto queues = own_queues();
  ASSERT_FALSE(queues.empty());
  for (auto* begun : queues) std::atomic_ref(*begun).fetch_add(1);
  EXPECT_TRUE(has_blocked_queue());
  while (told == 0 && goes_on()) continue;
  for (int turn = 0; turn < 5000; ++turn) goes_on();
  EXPECT_EQ(told, 1);
  for (auto* begun : queues) {
    std::atomic_ref(*begun).fetch_sub(1);
    shmdt(begun);
  }
}

}  // namespace
}  // namespace tidegate::runtime
