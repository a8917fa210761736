#include "runtime/transport/bundle.hpp"

#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/rng.hpp"
#include "tests/support/allocations.hpp"

namespace tidegate::runtime {
namespace {

frame_header push_of(std::uint64_t bytes, std::uint64_t clock = 1) {
  frame_header header;
  header.kind = frame_kind::push;
  header.clock = clock;
  header.payload_bytes = bytes;
  return header;
}

std::vector<std::byte> wire_of(const std::vector<frame_header>& headers) {
  std::vector<std::byte> wire;
  for (const auto& header : headers) {
    const auto one = encode(header);
    wire.insert(wire.end(), one.begin(), one.end());
  }
  return wire;
}

TEST(bundle, decodes_what_is_encoded) {
  std::vector<frame_header> sent;
  std::uint64_t bytes = 0;
  for (std::uint64_t i = 0; i < bundle_frames_max; ++i) {
    sent.push_back(push_of(4 * (i + 1), i));
    bytes += 4 * (i + 1);
    std::vector<frame_header> arrived(3);
    const auto decoded = decode_bundle(wire_of(sent), bytes, arrived);
    ASSERT_TRUE(decoded.ok()) << decoded.message();
    EXPECT_EQ(arrived, sent);
  }
}

// Every way to be wrong is refused with its reason, and leaves nothing to act on.
void expect_refused(std::span<const std::byte> wire, std::uint64_t arrived,
                    const char* reason) {
  std::vector<frame_header> headers(2);
  const auto decoded = decode_bundle(wire, arrived, headers);
  EXPECT_EQ(decoded.code(), errc::corrupt);
  EXPECT_NE(decoded.message().find(reason), std::string::npos) << decoded.message();
  EXPECT_TRUE(headers.empty());
}

TEST(bundle, refuses_lengths_that_are_none) {
  const auto wire = wire_of({push_of(8), push_of(16)});
  expect_refused({}, 0, "bytes of frame headers");
  for (std::size_t size = 1; size < wire.size(); ++size)
    if (size != frame_header_bytes)
      expect_refused(std::span(wire).first(size), 24, "bytes of frame headers");
  expect_refused(std::span(wire).first(frame_header_bytes), 24, "leave 16");
  const std::vector<frame_header> many(bundle_frames_max + 1, push_of(4));
  expect_refused(wire_of(many), 4 * many.size(), "bytes of frame headers");
}

TEST(bundle, refuses_payloads_that_do_not_add_up) {
  expect_refused(wire_of({push_of(8), push_of(16)}), 20, "claim more");
  expect_refused(wire_of({push_of(8), push_of(16)}), 28, "leave 4");
  expect_refused(wire_of({push_of(8), push_of(16)}), 0, "claim more");
  // That wrap around to the right sum.
  const auto huge = ~std::uint64_t{0} - 3;
  expect_refused(wire_of({push_of(8), push_of(huge), push_of(4)}), 8, "claim more");
  expect_refused(wire_of({push_of(bundle_payload_bytes_max + 4)}), bundle_payload_bytes_max + 4,
                 "payload bytes");
}

TEST(bundle, refuses_frames_that_are_none_or_have_no_payload) {
  auto wire = wire_of({push_of(8), push_of(16)});
  wire[frame_header_bytes] = std::byte{'X'};
  expect_refused(wire, 24, "magic");
  expect_refused(wire_of({push_of(8), push_of(6)}), 14, "whole number of float32");
  frame_header pull;
  pull.kind = frame_kind::pull;
  expect_refused(wire_of({push_of(8), pull}), 8, "no payload");
}

TEST(bundle, random_bytes_never_claim_what_has_not_come) {
  rng random(5);
  std::vector<frame_header> headers;
  const auto sent = wire_of({push_of(8), push_of(16), push_of(4)});
  for (int round = 0; round < 20'000; ++round) {
    auto wire = sent;
    for (int i = 0; i < 2; ++i)
      wire[random.below(wire.size())] = static_cast<std::byte>(random.next());
    if (!decode_bundle(wire, 28, headers).ok()) continue;
    std::uint64_t claimed = 0;
    for (const auto& header : headers) claimed += header.payload_bytes;
    EXPECT_EQ(claimed, 28U);
    EXPECT_EQ(wire_of(headers), wire);
  }
}

TEST(bundle, decoding_allocates_nothing_once_warm) {
  const auto wire = wire_of(std::vector<frame_header>(bundle_frames_max, push_of(4)));
  std::vector<frame_header> headers;
  ASSERT_TRUE(decode_bundle(wire, 4 * bundle_frames_max, headers).ok());
  const auto before = tests::allocations();
  ASSERT_TRUE(decode_bundle(wire, 4 * bundle_frames_max, headers).ok());
  EXPECT_EQ(tests::allocations(), before);
}

}  // namespace
}  // namespace tidegate::runtime
