#include "runtime/transport/frame_delivery.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "tests/support/link_recorder.hpp"

namespace tidegate::runtime {
namespace {

using tests::push_header;
using tests::recorder;

class frame_delivery_test : public testing::Test {
 protected:
  void SetUp() override { delivery.set_sink(&sink); }

  link_counters counters;
  recorder sink;
  frame_delivery delivery{counters};
};

TEST_F(frame_delivery_test, copies_a_frame_to_its_place_and_counts_it) {
  const std::vector<std::byte> payload(100, std::byte{3});
  delivery.take(push_header(payload.size(), 1), payload);
  ASSERT_EQ(sink.arrivals.size(), 1U);
  EXPECT_EQ(sink.arrivals[0].payload, payload);
  EXPECT_EQ(counters.frames_received, 1U);
  EXPECT_EQ(counters.payload_bytes_received, 100U);
  EXPECT_EQ(counters.payload_bytes_copied, 100U);
  delivery.take(push_header(0, 2), {});
  EXPECT_EQ(counters.frames_received, 2U);
  EXPECT_EQ(sink.places.size(), 1U) << "without payload there is nothing to place";
}

TEST_F(frame_delivery_test, drops_and_counts_a_frame_that_is_refused) {
  sink.refuse = true;
  const std::vector<std::byte> payload(100);
  delivery.take(push_header(payload.size(), 1), payload);
  EXPECT_TRUE(sink.arrivals.empty());
  EXPECT_EQ(counters.frames_refused, 1U);
  EXPECT_EQ(counters.payload_bytes_copied, 0U);
}

TEST_F(frame_delivery_test, without_a_sink_refuses_everything) {
  delivery.set_sink(nullptr);
  EXPECT_FALSE(delivery.place(push_header(8, 1)));
  delivery.deliver(push_header(0, 1), {});
  EXPECT_TRUE(sink.arrivals.empty());
}

}  // namespace
}  // namespace tidegate::runtime
