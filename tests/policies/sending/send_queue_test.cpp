#include "policies/sending/send_queue.hpp"

#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/rng.hpp"
#include "tests/support/allocations.hpp"

namespace tidegate::policies {
namespace {

constexpr std::uint64_t mib = 1U << 20U;

// The handles of the next message, as text: "3", "3+5+4"; empty when none may go.
std::string pop(send_queue& queue, std::uint32_t peer) {
  std::string handles;
  for (const auto& popped : queue.next(peer))
    handles += (handles.empty() ? "" : "+") + std::to_string(popped.handle);
  return handles;
}

// Of all messages that may go now.
std::string pop_all(send_queue& queue, std::uint32_t peer) {
  std::string handles;
  for (auto next = pop(queue, peer); !next.empty(); next = pop(queue, peer))
    handles += next + " ";
  return handles;
}

send_limits on_the_way(std::uint64_t bytes, std::uint32_t messages) {
  send_limits limits;
  limits.bytes = bytes;
  limits.messages = messages;
  return limits;
}

TEST(send_queue, lets_only_so_many_go) {
  send_queue queue(on_the_way(4 * mib, 3));
  for (std::uint32_t i = 0; i < 6; ++i)
    queue.add({.peer = 0, .handle = i, .priority = 7, .bytes = mib});
  EXPECT_EQ(pop_all(queue, 0), "0 1 2 ") << "three frames";
  queue.sent(0, mib);
  EXPECT_EQ(pop_all(queue, 0), "3 ");
  send_queue bytes(on_the_way(4 * mib, 100));
  for (std::uint32_t i = 0; i < 6; ++i)
    bytes.add({.peer = 0, .handle = i, .priority = 7, .bytes = mib + mib / 2});
  EXPECT_EQ(pop_all(bytes, 0), "0 1 ") << "less than four MiB";
}

TEST(send_queue, what_is_used_next_overtakes_what_waits) {
  send_queue queue(on_the_way(mib, 100));
  for (std::uint32_t i = 0; i < 3; ++i)
    queue.add({.peer = 0, .handle = i, .priority = 50, .bytes = mib});
  EXPECT_EQ(pop_all(queue, 0), "0 ");
  queue.add({.peer = 0, .handle = 10, .priority = 2, .bytes = 4096});
  queue.add({.peer = 0, .handle = 11, .priority = 1, .bytes = 4096});
  queue.add({.peer = 0, .handle = 12, .priority = 1, .bytes = 4096});
  queue.sent(0, mib);
  EXPECT_EQ(pop_all(queue, 0), "11+12+10 ") << "by priority, then in order";
  queue.sent(0, std::uint64_t{3} * 4096);
  EXPECT_EQ(pop_all(queue, 0), "1 ");
}

TEST(send_queue, peers_do_not_wait_for_one_another) {
  send_queue queue(on_the_way(mib, 100));
  for (std::uint32_t i = 0; i < 4; ++i)
    queue.add({.peer = i % 2, .handle = i, .priority = 0, .bytes = mib});
  EXPECT_EQ(pop_all(queue, 0), "0 ");
  EXPECT_EQ(pop_all(queue, 1), "1 ");
  EXPECT_EQ(pop_all(queue, 2), "") << "a peer that was never heard of";
  queue.sent(1, mib);
  EXPECT_EQ(pop_all(queue, 0), "");
  EXPECT_EQ(pop_all(queue, 1), "3 ");
}

TEST(send_queue, a_frame_larger_than_the_limit_goes_alone) {
  send_queue queue(on_the_way(mib, 4));
  queue.add({.peer = 0, .handle = 0, .priority = 0, .bytes = 64 * mib});
  queue.add({.peer = 0, .handle = 1, .priority = 0, .bytes = 64 * mib});
  EXPECT_EQ(pop_all(queue, 0), "0 ");
  queue.sent(0, 64 * mib);
  EXPECT_EQ(pop_all(queue, 0), "1 ");
}

TEST(send_queue, forgets_what_waits_but_not_what_is_on_the_way) {
  send_queue queue(on_the_way(mib, 4));
  queue.add({.peer = 0, .handle = 0, .priority = 0, .bytes = mib});
  queue.add({.peer = 0, .handle = 1, .priority = 0, .bytes = mib});
  EXPECT_EQ(pop_all(queue, 0), "0 ");
  queue.clear();
  EXPECT_EQ(queue.waiting(), 0U);
  queue.add({.peer = 0, .handle = 2, .priority = 0, .bytes = mib});
  EXPECT_EQ(pop_all(queue, 0), "");
  queue.sent(0, mib);
  EXPECT_EQ(pop_all(queue, 0), "2 ");
}

TEST(send_queue, drops_what_waits_for_one_peer) {
  send_queue queue({mib, 4});
  for (std::uint32_t i = 0; i < 6; ++i)
    queue.add({.peer = i % 2, .handle = i, .priority = 0, .bytes = mib});
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

TEST(send_queue, small_frames_share_a_message_and_large_ones_do_not) {
  send_queue queue({.bytes = mib,
                    .messages = 100,
                    .bundle_bytes = 1000,
                    .bundle_frames = 4,
                    .small_bytes = 300});
  queue.add({.peer = 0, .handle = 0, .priority = 1, .bytes = 100});
  queue.add({.peer = 0, .handle = 1, .priority = 2, .bytes = 300});
  queue.add({.peer = 0, .handle = 2, .priority = 3, .bytes = 301});
  queue.add({.peer = 0, .handle = 3, .priority = 4, .bytes = 300});
  queue.add({.peer = 0, .handle = 4, .priority = 5, .bytes = 300});
  queue.add({.peer = 0, .handle = 5, .priority = 6, .bytes = 300});
  queue.add({.peer = 0, .handle = 6, .priority = 7, .bytes = 101});
  queue.add({.peer = 0, .handle = 7, .priority = 8, .bytes = 4});
  EXPECT_EQ(pop(queue, 0), "0+1") << "the next one in order is large";
  EXPECT_EQ(pop(queue, 0), "2");
  EXPECT_EQ(pop(queue, 0), "3+4+5") << "1001 bytes would be too many, and nothing overtakes";
  EXPECT_EQ(pop(queue, 0), "6+7");
  for (std::uint32_t i = 10; i < 15; ++i)
    queue.add({.peer = 0, .handle = i, .priority = 1, .bytes = 4});
  EXPECT_EQ(pop(queue, 0), "10+11+12+13") << "four at most";
  EXPECT_EQ(pop(queue, 0), "14");
  send_queue single({.bytes = mib,
                     .messages = 100,
                     .bundle_bytes = 1000,
                     .bundle_frames = 1,
                     .small_bytes = 300});
  for (std::uint32_t i = 0; i < 2; ++i) EXPECT_TRUE(single.add({0, i, 1, 4}));
  EXPECT_EQ(pop_all(single, 0), "0 1 ") << "the link has no bundles";
}

TEST(send_queue, a_bundle_is_one_message_on_the_way) {
  send_queue queue({.bytes = 250,
                    .messages = 2,
                    .bundle_bytes = 1000,
                    .bundle_frames = 4,
                    .small_bytes = 300});
  for (std::uint32_t i = 0; i < 12; ++i)
    queue.add({.peer = 0, .handle = i, .priority = 1, .bytes = 10});
  EXPECT_EQ(pop_all(queue, 0), "0+1+2+3 4+5+6+7 ");
  queue.sent(0, 40);
  EXPECT_EQ(pop_all(queue, 0), "8+9+10+11 ");
  queue.sent(0, 40);
  for (std::uint32_t i = 20; i < 23; ++i)
    queue.add({.peer = 0, .handle = i, .priority = 1, .bytes = 100});
  EXPECT_EQ(pop_all(queue, 0), "20+21 ") << "250 bytes on the way at most";
}

TEST(send_queue, says_when_a_message_is_worth_its_cost) {
  send_queue queue({.bytes = mib,
                    .messages = 100,
                    .bundle_bytes = 1000,
                    .bundle_frames = 4,
                    .small_bytes = 300});
  EXPECT_TRUE(queue.add({0, 0, 1, 301})) << "large";
  EXPECT_EQ(pop(queue, 0), "0");
  EXPECT_FALSE(queue.add({0, 1, 1, 4}));
  EXPECT_FALSE(queue.add({0, 2, 1, 4}));
  EXPECT_FALSE(queue.add({1, 3, 1, 4})) << "another peer's";
  EXPECT_FALSE(queue.add({0, 4, 1, 4}));
  EXPECT_TRUE(queue.add({0, 5, 1, 4})) << "a bundle's worth of frames";
  EXPECT_EQ(pop(queue, 0), "1+2+4+5");
  for (std::uint32_t i = 6; i < 9; ++i) EXPECT_FALSE(queue.add({0, i, 1, 300}));
  queue.clear();
  for (std::uint32_t i = 6; i < 9; ++i) EXPECT_FALSE(queue.add({0, i, 1, 300}));
  EXPECT_TRUE(queue.add({0, 9, 1, 100})) << "a bundle's worth of bytes";
  EXPECT_EQ(pop(queue, 0), "6+7+8+9");
}

TEST(send_queue, without_limits_everything_goes) {
  send_queue queue({mib, 4});
  for (std::uint32_t i = 0; i < 12; ++i)
    queue.add({.peer = i % 2, .handle = i, .priority = 12 - i, .bytes = mib});
  EXPECT_EQ(pop_all(queue, 0), "10 ");
  queue.lift_limits();
  EXPECT_EQ(queue.peers(), 2U);
  EXPECT_EQ(pop_all(queue, 0), "8 6 4 2 0 ");
  EXPECT_EQ(pop_all(queue, 1), "11 9 7 5 3 1 ");
}

// Random frames, sent in any order: each goes exactly once, none while the lane is full, and
// never one of lower rank while a better one waits.
class random_traffic {
 public:
  explicit random_traffic(std::uint64_t seed) : random_(seed) {}

  void run() {
    while (gone_ < 400 && !testing::Test::HasFatalFailure()) {
      if (added_ < 400 && random_.below(2) == 0) {
        waiting_.push_back({0, added_++, random_.below(4), 1 + random_.below(600)});
        queue_.add(waiting_.back());
      }
      if (const auto next = queue_.next(0); !next.empty()) {
        check(next);
      } else if (!under_way_.empty()) {
        const auto at = random_.below(under_way_.size());
        queue_.sent(0, under_way_[at].bytes);
        gone_ += under_way_[at].frames;
        under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(at));
      }
    }
    EXPECT_EQ(queue_.waiting(), 0U);
  }

 private:
  struct message {
    std::uint64_t bytes = 0;
    std::size_t frames = 0;
  };

  void check(std::span<const send_queue::frame> next) {
    message sent_message{0, next.size()};
    for (const auto& popped : next) {
      auto best = waiting_.begin();
      for (auto at = waiting_.begin(); at != waiting_.end(); ++at)
        if (at->priority < best->priority) best = at;
      ASSERT_EQ(popped.handle, best->handle);
      ASSERT_TRUE(next.size() == 1 || popped.bytes <= 200);
      sent_message.bytes += popped.bytes;
      waiting_.erase(best);
    }
    ASSERT_TRUE(next.size() == 1 || (sent_message.bytes <= 500 && next.size() <= 6));
    under_way_.push_back(sent_message);
    std::uint64_t bytes = 0;
    for (const auto& popped : under_way_) bytes += popped.bytes;
    ASSERT_TRUE(under_way_.size() == 1 || (bytes <= 1000 && under_way_.size() <= 5));
  }

  runtime::rng random_;
  send_queue queue_{{.bytes = 1000,
                     .messages = 5,
                     .bundle_bytes = 500,
                     .bundle_frames = 6,
                     .small_bytes = 200}};
  std::vector<send_queue::frame> waiting_;
  std::vector<message> under_way_;
  std::uint32_t added_ = 0;
  std::size_t gone_ = 0;
};

TEST(send_queue, every_frame_goes_once_in_order_of_priority) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    random_traffic(seed).run();
  }
}

TEST(use_order, clocks_then_tables) {
  EXPECT_LT(use_order(3, 65'535), use_order(4, 0));
  EXPECT_LT(use_order(4, 0), use_order(4, 1));
  EXPECT_LT(use_order(5, 7), use_order(~std::uint64_t{0}, 0)) << "a pull of the end comes last";
}

TEST(send_queue, allocates_nothing_once_warm) {
  send_queue queue(on_the_way(mib, 4));
  const auto round = [&] {
    for (std::uint32_t i = 0; i < 100; ++i)
      queue.add({.peer = i % 3, .handle = i, .priority = 100 - i, .bytes = mib >> i % 9});
    std::size_t sent = 0;
    for (std::uint32_t peer = 0; sent < 100; peer = (peer + 1) % 3) {
      std::uint64_t bytes = 0;
      const auto next = queue.next(peer);
      for (const auto& popped : next) bytes += popped.bytes;
      sent += next.size();
      if (!next.empty()) queue.sent(peer, bytes);
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
