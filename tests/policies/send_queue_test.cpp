#include "policies/send_queue.hpp"

#include <deque>
#include <string>

#include <gtest/gtest.h>

#include "runtime/base/rng.hpp"
#include "tests/support/allocations.hpp"

namespace tidegate::policies {
namespace {

constexpr std::uint64_t mib = 1U << 20U;

// The handles that may go now, as text.
std::string pop_all(send_queue& queue, std::uint32_t peer) {
  std::string handles;
  while (const auto next = queue.next(peer)) handles += std::to_string(next->handle) + " ";
  return handles;
}

TEST(send_queue, lets_only_so_many_go) {
  send_queue queue({4 * mib, 3});
  for (std::uint32_t i = 0; i < 6; ++i) queue.add({0, i, 7, mib});
  EXPECT_EQ(pop_all(queue, 0), "0 1 2 ") << "three frames";
  queue.sent(0, mib);
  EXPECT_EQ(pop_all(queue, 0), "3 ");
  send_queue bytes({4 * mib, 100});
  for (std::uint32_t i = 0; i < 6; ++i) bytes.add({0, i, 7, mib + mib / 2});
  EXPECT_EQ(pop_all(bytes, 0), "0 1 ") << "less than four MiB";
}

TEST(send_queue, what_is_used_next_overtakes_what_waits) {
  send_queue queue({mib, 100});
  for (std::uint32_t i = 0; i < 3; ++i) queue.add({0, i, 50, mib});
  EXPECT_EQ(pop_all(queue, 0), "0 ");
  queue.add({0, 10, 2, 4096});
  queue.add({0, 11, 1, 4096});
  queue.add({0, 12, 1, 4096});
  queue.sent(0, mib);
  EXPECT_EQ(pop_all(queue, 0), "11 12 10 ") << "by priority, then in order";
  for (int i = 0; i < 3; ++i) queue.sent(0, 4096);
  EXPECT_EQ(pop_all(queue, 0), "1 ");
}

TEST(send_queue, peers_do_not_wait_for_one_another) {
  send_queue queue({mib, 100});
  for (std::uint32_t i = 0; i < 4; ++i) queue.add({i % 2, i, 0, mib});
  EXPECT_EQ(pop_all(queue, 0), "0 ");
  EXPECT_EQ(pop_all(queue, 1), "1 ");
  EXPECT_EQ(pop_all(queue, 2), "") << "a peer that was never heard of";
  queue.sent(1, mib);
  EXPECT_EQ(pop_all(queue, 0), "");
  EXPECT_EQ(pop_all(queue, 1), "3 ");
}

TEST(send_queue, a_frame_larger_than_the_limit_goes_alone) {
  send_queue queue({mib, 4});
  queue.add({0, 0, 0, 64 * mib});
  queue.add({0, 1, 0, 64 * mib});
  EXPECT_EQ(pop_all(queue, 0), "0 ");
  queue.sent(0, 64 * mib);
  EXPECT_EQ(pop_all(queue, 0), "1 ");
}

TEST(send_queue, forgets_what_waits_but_not_what_is_on_the_way) {
  send_queue queue({mib, 4});
  queue.add({0, 0, 0, mib});
  queue.add({0, 1, 0, mib});
  EXPECT_EQ(pop_all(queue, 0), "0 ");
  queue.clear();
  EXPECT_EQ(queue.waiting(), 0U);
  queue.add({0, 2, 0, mib});
  EXPECT_EQ(pop_all(queue, 0), "");
  queue.sent(0, mib);
  EXPECT_EQ(pop_all(queue, 0), "2 ");
}

TEST(send_queue, drops_what_waits_for_one_peer) {
  send_queue queue({mib, 4});
  for (std::uint32_t i = 0; i < 6; ++i) queue.add({i % 2, i, 0, mib});
  EXPECT_EQ(pop_all(queue, 0), "0 ");
  std::vector<std::uint32_t> handles;
  queue.drop(0, handles);
  queue.drop(7, handles);
  EXPECT_EQ(handles, (std::vector<std::uint32_t>{2, 4}));
  EXPECT_EQ(queue.waiting(), 3U) << "of the other peer";
  queue.sent(0, mib);
  EXPECT_EQ(pop_all(queue, 0), "") << "what was on the way has come to its end";
  EXPECT_EQ(pop_all(queue, 1), "1 ");
}

TEST(send_queue, without_limits_everything_goes) {
  send_queue queue({mib, 4});
  for (std::uint32_t i = 0; i < 12; ++i) queue.add({i % 2, i, 12 - i, mib});
  EXPECT_EQ(pop_all(queue, 0), "10 ");
  queue.lift_limits();
  EXPECT_EQ(queue.peers(), 2U);
  EXPECT_EQ(pop_all(queue, 0), "8 6 4 2 0 ");
  EXPECT_EQ(pop_all(queue, 1), "11 9 7 5 3 1 ");
}

// Random frames, sent in any order: each goes exactly once, none while the lane is full, and
// never one of lower rank while a better one waits.
TEST(send_queue, every_frame_goes_once_in_order_of_priority) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    runtime::rng random(seed);
    send_queue queue({1000, 5});
    std::vector<send_queue::frame> waiting;
    std::deque<send_queue::frame> on_the_way;
    std::uint32_t made = 0;
    std::uint32_t gone = 0;
    while (gone < 400) {
      if (made < 400 && random.below(2) == 0) {
        waiting.push_back({0, made++, random.below(4), 1 + random.below(600)});
        queue.add(waiting.back());
      }
      if (const auto next = queue.next(0)) {
        auto best = waiting.begin();
        for (auto at = waiting.begin(); at != waiting.end(); ++at)
          if (at->priority < best->priority) best = at;
        ASSERT_EQ(next->handle, best->handle) << "seed " << seed;
        on_the_way.push_back(*best);
        waiting.erase(best);
        std::uint64_t bytes = 0;
        for (const auto& one : on_the_way) bytes += one.bytes;
        ASSERT_TRUE(on_the_way.size() == 1 || (bytes <= 1000 && on_the_way.size() <= 5));
      } else if (!on_the_way.empty()) {
        queue.sent(0, on_the_way.front().bytes);
        on_the_way.pop_front();
        ++gone;
      }
    }
  }
}

TEST(use_order, clocks_then_tables) {
  EXPECT_LT(use_order(3, 65'535), use_order(4, 0));
  EXPECT_LT(use_order(4, 0), use_order(4, 1));
  EXPECT_LT(use_order(5, 7), use_order(~std::uint64_t{0}, 0)) << "a pull of the end comes last";
}

TEST(send_queue, allocates_nothing_once_warm) {
  send_queue queue({mib, 4});
  const auto round = [&] {
    for (std::uint32_t i = 0; i < 100; ++i) queue.add({i % 3, i, 100 - i, mib});
    std::uint32_t sent = 0;
    for (std::uint32_t peer = 0; sent < 100; peer = (peer + 1) % 3)
      if (queue.next(peer)) {
        queue.sent(peer, mib);
        ++sent;
      }
    return sent;
  };
  EXPECT_EQ(round(), 100U);
  const auto before = tests::allocations();
  EXPECT_EQ(round(), 100U);
  EXPECT_EQ(tests::allocations(), before);
}

}  // namespace
}  // namespace tidegate::policies
