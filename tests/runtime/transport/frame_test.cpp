#include "runtime/transport/frame.hpp"

#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/rng.hpp"

namespace tidegate::runtime {
namespace {

frame_header sample() {
  frame_header header;
  header.kind = frame_kind::pull_reply;
  header.flags = frame_flag_final;
  header.job = 0x1122334455667788;
  header.epoch = 0x0000'0003'0000'0002;
  header.incarnation = 4;
  header.worker = 5;
  header.table = 6;
  header.chunk = 7;
  header.clock = 9;
  header.version = 10;
  header.min_clock = 8;
  header.payload_bytes = 64;
  header.request = 11;
  header.count = 12;
  header.version_buffer = 13;
  header.shard = 14;
  header.rate = 0.5F;
  return header;
}

TEST(frame, decodes_what_it_encodes) {
  const auto header = sample();
  const auto decoded = decode(encode(header), 64);
  ASSERT_TRUE(decoded) << decoded.error().message();
  EXPECT_EQ(*decoded, header);
}

TEST(frame, squares_take_the_place_of_a_clock_that_their_kinds_do_not_have) {
  for (const auto kind : {frame_kind::norm_part, frame_kind::norm, frame_kind::steps}) {
    frame_header header;
    header.kind = kind;
    header.squares = 6.25;
    const auto decoded = decode(encode(header), 0);
    ASSERT_TRUE(decoded) << decoded.error().message();
    EXPECT_EQ(*decoded, header);
  }
}

TEST(frame, the_wire_layout_is_fixed) {
  const auto wire = encode(sample());
  EXPECT_EQ(std::memcmp(wire.data(), "TDG1", 4), 0);
  EXPECT_EQ(wire[4], std::byte{17});
  EXPECT_EQ(wire[5], std::byte{5});
  EXPECT_EQ(wire[8], std::byte{0x88});
  EXPECT_EQ(wire[16], std::byte{2}) << "the view";
  EXPECT_EQ(wire[20], std::byte{3}) << "the run";
  EXPECT_EQ(wire[76], std::byte{7});
  EXPECT_EQ(wire[48], std::byte{64});
  EXPECT_EQ(wire[56], std::byte{11});
  EXPECT_EQ(wire[84], std::byte{12});
  EXPECT_EQ(wire[88], std::byte{13});
  EXPECT_EQ(wire[90], std::byte{14});
  EXPECT_EQ(wire[95], std::byte{0x3f}) << "0.5";
}

// Every way to be wrong is refused with its reason.
void expect_refused(const frame_header& header, std::uint64_t arrived, const char* reason) {
  const auto decoded = decode(encode(header), arrived);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code(), errc::corrupt);
  EXPECT_NE(decoded.error().message().find(reason), std::string::npos)
      << decoded.error().message();
}

TEST(frame, refuses_wrong_lengths) {
  const auto wire = encode(sample());
  EXPECT_FALSE(decode(std::span(wire).first(95), 64));
  EXPECT_FALSE(decode({}, 0));
  std::vector<std::byte> longer(wire.begin(), wire.end());
  longer.push_back(std::byte{0});
  EXPECT_FALSE(decode(longer, 64));
  expect_refused(sample(), 60, "says 64 payload bytes and has 60");
  expect_refused(sample(), 68, "says 64 payload bytes and has 68");
}

TEST(frame, refuses_wrong_contents) {
  auto wire = encode(sample());
  wire[0] = std::byte{'X'};
  EXPECT_FALSE(decode(wire, 64));
  wire = encode(sample());
  wire[4] = std::byte{1};
  EXPECT_NE(decode(wire, 64).error().message().find("version 1"), std::string::npos);
  for (int kind : {0, frame_kind_last + 1, 255}) {
    wire = encode(sample());
    wire[5] = static_cast<std::byte>(kind);
    EXPECT_FALSE(decode(wire, 64)) << kind;
  }
  auto header = sample();
  header.flags = 1024;
  expect_refused(header, 64, "unknown flags");
  for (const float rate : {-1.0F, std::numeric_limits<float>::infinity(),
                           std::numeric_limits<float>::quiet_NaN()}) {
    header = sample();
    header.rate = rate;
    expect_refused(header, 64, "rate is negative or not finite");
  }
  for (const double squares : {-1.0, std::numeric_limits<double>::quiet_NaN()}) {
    frame_header norm;
    norm.kind = frame_kind::norm;
    norm.squares = squares;
    expect_refused(norm, 0, "sum of squares is negative or NaN");
  }
  header = sample();
  header.kind = frame_kind::pull;
  expect_refused(header, 64, "payload disagree");
  header = sample();
  header.code = 1;
  expect_refused(header, 64, "payload disagree");
  header = sample();
  header.kind = frame_kind::push;
  header.payload_bytes = 0;
  expect_refused(header, 0, "payload disagree");
  header.payload_bytes = 6;
  expect_refused(header, 6, "whole number of float32");
}

TEST(frame, random_bytes_never_decode_to_something_else) {
  rng random(3);
  for (int round = 0; round < 20'000; ++round) {
    auto header = sample();
    header.clock = random.next();
    auto wire = encode(header);
    wire[random.below(wire.size())] = static_cast<std::byte>(random.next());
    if (const auto decoded = decode(wire, 64)) {
      EXPECT_EQ(encode(*decoded), wire);
    }
  }
}

}  // namespace
}  // namespace tidegate::runtime
