// What processes of a host have noted, and whether it is all of it.
#include "launch/processes/span_rings.hpp"

#include <gtest/gtest.h>

namespace tidegate::launch {
namespace {

constexpr std::uint64_t run_token = 0xfeedULL;

// Starts a process that notes so many spans.
void note(span_rings& rings, policies::process_number process, std::size_t count) {
  const auto fd = rings.prepare({.process = process}, "worker-a-0", run_token);
  ASSERT_TRUE(fd) << fd.error().message();
  auto ring = runtime::span_ring::open(*fd, run_token);
  ASSERT_TRUE(ring) << ring.error().message();
  rings.started(process);
  ring->note_clocks();
  for (std::size_t clock = 0; clock < count; ++clock) ring->add({.clock = clock});
}

TEST(span_rings, say_whether_earlier_spans_are_lost) {
  constexpr auto slots = runtime::span_ring::slots;
  span_rings rings;
  note(rings, 1, 3);
  auto all = rings.read(slots);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].all.size(), 3U);
  EXPECT_FALSE(all[0].is_cut);

  all = rings.read(2);
  ASSERT_EQ(all[0].all.size(), 2U);
  EXPECT_EQ(all[0].all[0].clock, 1U) << "the last of it";
  EXPECT_TRUE(all[0].is_cut) << "by who asks";

  span_rings others;
  note(others, 1, slots + 1);
  EXPECT_TRUE(others.read(slots)[0].is_cut) << "by the ring";
}

}  // namespace
}  // namespace tidegate::launch
