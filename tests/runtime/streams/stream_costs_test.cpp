// What frames over streams cost: no allocation once warm, and no copy of large payload.
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/streams/stream_link.hpp"
#include "tests/support/allocations.hpp"
#include "tests/support/link_recorder.hpp"

namespace tidegate::runtime {
namespace {

// Gives every frame the same place, and counts.
struct counting_sink final : frame_sink {
  buffer place(const frame_header& header) override {
    return buffer::view(std::span(memory).first(header.payload_bytes));
  }
  void on_frame(const frame_header&, buffer) override { ++frames; }
  void on_frame_lost(const frame_header&) override { ++lost; }
  void on_sent(send_token, const status& outcome) override { sent += outcome.ok() ? 1 : 0; }
  void on_bad_frame(const status&) override { ++lost; }
  void on_peer_lost(peer_id, const status&) override { ++lost; }

  std::vector<std::byte> memory = std::vector<std::byte>(4U << 20U);
  std::size_t frames = 0, sent = 0, lost = 0;
};

class stream_costs : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    a = std::move(*open_stream_link({.sealed = GetParam()}));
    b = std::move(*open_stream_link({.sealed = GetParam()}));
    a->set_sink(&at_a);
    b->set_sink(&at_b);
    to_b = *a->connect(b->address());
  }

  // Sends frames of this size and sees them arrive.
  void exchange(std::size_t bytes, std::size_t frames) {
    const auto arrived = at_b.frames + frames;
    const auto sent = at_a.sent + frames;
    for (std::size_t i = 0; i < frames; ++i)
      a->post(to_b, tests::push_header(bytes, i), std::span(payload).first(bytes), i + 1);
    ASSERT_TRUE(
        tests::until(*a, *b, [&] { return at_b.frames == arrived && at_a.sent == sent; }));
  }

  counting_sink at_a, at_b;
  std::unique_ptr<link> a, b;
  peer_id to_b = 0;
  std::vector<std::byte> payload = std::vector<std::byte>(4U << 20U);
};

TEST_P(stream_costs, no_allocation_once_warm) {
  for (int round = 0; round < 4; ++round)
    for (const std::size_t bytes : {4096U, 65'536U, 1U << 20U}) exchange(bytes, 32);
  const auto before = tests::allocations();
  for (int round = 0; round < 10; ++round)
    for (const std::size_t bytes : {4096U, 65'536U, 1U << 20U}) {
      const auto arrived = at_b.frames + 16;
      for (std::size_t i = 0; i < 16; ++i)
        a->post(to_b, tests::push_header(bytes, i), std::span(payload).first(bytes), i + 1);
      while (at_b.frames < arrived && at_a.lost + at_b.lost == 0) a->progress(), b->progress();
    }
  EXPECT_EQ(tests::allocations(), before);
  EXPECT_EQ(at_a.lost + at_b.lost, 0U);
}

TEST_P(stream_costs, large_payload_is_read_into_its_place) {
  exchange(4U << 20U, 8);
  exchange(512U << 10U, 8);
  EXPECT_EQ(b->counters().payload_bytes_copied, 0U);
}

TEST_P(stream_costs, little_of_a_large_payload_is_copied_after_small_ones) {
  for (int round = 0; round < 20; ++round) {
    exchange(64, 10);
    exchange(1U << 20U, 1);
  }
  EXPECT_LT(b->counters().payload_bytes_copied, 20 * (10 * 64 + (16U << 10U)));
}

INSTANTIATE_TEST_SUITE_P(records, stream_costs, testing::Bool(), [](const auto& instance) {
  return std::string(instance.param ? "sealed" : "plain");
});

}  // namespace
}  // namespace tidegate::runtime
