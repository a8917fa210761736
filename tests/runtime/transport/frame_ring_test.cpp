#include "runtime/transport/frame_ring.hpp"

#include <array>
#include <cstring>
#include <deque>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/rng.hpp"

namespace tidegate::runtime {
namespace {

constexpr std::size_t capacity = 4096;

struct ring {
  alignas(64) std::array<std::byte, ring_head_bytes + capacity> memory{};
  ring_writer writer{memory};
  ring_reader reader{memory};

  std::uint64_t& word(std::size_t at) {
    return *reinterpret_cast<std::uint64_t*>(memory.data() + at);
  }
};

std::vector<std::byte> some_bytes(rng& random, std::size_t count) {
  std::vector<std::byte> made(count);
  for (auto& one : made) one = static_cast<std::byte>(random.next());
  return made;
}

TEST(frame_ring, records_come_out_as_they_went_in) {
  rng random(7);
  ring ring;
  std::deque<std::vector<std::byte>> inside;
  std::uint64_t read = 0;
  std::size_t came = 0;
  while (came < 20'000) {
    if (random.below(2) == 0) {
      const auto body = some_bytes(random, random.below(ring.writer.body_bytes_max() + 1));
      auto* at = ring.writer.begin(record_kind::piece, body.size(), read);
      if (at == nullptr) {
        ASSERT_FALSE(inside.empty()) << "an empty ring has room for any record";
        continue;
      }
      std::memcpy(at, body.data(), body.size());
      ring.writer.publish();
      inside.push_back(body);
    } else {
      ring_record record;
      const auto found = ring.reader.next(record);
      ASSERT_EQ(found == ring_reader::found::record, !inside.empty());
      ASSERT_EQ(ring.reader.is_empty(), inside.empty());
      if (inside.empty()) continue;
      EXPECT_EQ(record.kind, record_kind::piece);
      EXPECT_EQ(std::vector(record.body.begin(), record.body.end()), inside.front());
      inside.pop_front();
      ring.reader.take(record);
      read = ring.reader.position();
      ++came;
    }
  }
}

// A writer that dies there has written nothing.
TEST(frame_ring, what_is_not_published_is_not_there) {
  ring ring;
  ring_record record;
  std::memset(ring.writer.begin(record_kind::frame, 100, 0), 1, 100);
  EXPECT_EQ(ring.reader.next(record), ring_reader::found::nothing);
  ring.writer.publish();
  EXPECT_EQ(ring.reader.next(record), ring_reader::found::record);
}

TEST(frame_ring, a_full_ring_takes_no_more_until_its_reader_has_read) {
  ring ring;
  ring_record record;
  std::size_t many = 0;
  while (ring.writer.begin(record_kind::frame, 1000, 0) != nullptr) ++many;
  EXPECT_EQ(many, 4U);
  ring.writer.publish();
  // What nobody can have read.
  EXPECT_EQ(ring.writer.begin(record_kind::frame, 1000, 1U << 20U), nullptr);
  ASSERT_EQ(ring.reader.next(record), ring_reader::found::record);
  ring.reader.take(record);
  EXPECT_NE(ring.writer.begin(record_kind::frame, 1000, ring.reader.position()), nullptr);
}

TEST(frame_ring, a_writer_that_lies_is_found_out) {
  const auto looks_like = [](auto&& spoil) {
    ring ring;
    ring.writer.begin(record_kind::frame, 100, 0);
    ring.writer.publish();
    ring_record record;
    EXPECT_EQ(ring.reader.next(record), ring_reader::found::record);
    ring.reader.take(record);
    ring.writer.begin(record_kind::frame, 100, 0);
    ring.writer.publish();
    spoil(ring);
    return ring.reader.next(record);
  };
  using found = ring_reader::found;
  EXPECT_EQ(looks_like([](ring&) {}), found::record);
  EXPECT_EQ(looks_like([](ring& all) { all.word(0) = 50; }), found::garbage) << "went back";
  EXPECT_EQ(looks_like([](ring& all) { all.word(0) += capacity; }), found::garbage);
  EXPECT_EQ(looks_like([](ring& all) { all.word(0) += 3; }), found::garbage);
  const std::size_t head = ring_head_bytes + 112;
  EXPECT_EQ(looks_like([](ring& all) { all.word(head) |= 1ULL << 63U; }), found::garbage);
  EXPECT_EQ(looks_like([](ring& all) { all.word(head) += 8ULL << 32U; }), found::garbage);
}

TEST(frame_ring, one_that_is_retired_has_nothing_to_read) {
  ring ring;
  ring.writer.begin(record_kind::frame, 100, 0);
  ring.writer.publish();
  EXPECT_FALSE(ring.reader.is_retired());
  ring.writer.retire();
  EXPECT_TRUE(ring.reader.is_retired());
  ring_record record;
  EXPECT_EQ(ring.reader.next(record), ring_reader::found::garbage);
}

TEST(frame_ring, any_bytes_are_read_without_leaving_the_ring) {
  rng random(11);
  for (int round = 0; round < 20'000; ++round) {
    ring ring;
    const auto bytes = some_bytes(random, capacity);
    std::memcpy(ring.memory.data() + ring_head_bytes, bytes.data(), bytes.size());
    // Half of the records are of lengths that may be.
    for (std::size_t at = ring_head_bytes; random.below(2) == 0 && at < capacity; at += 264)
      ring.word(at) = 256ULL << 32U | random.below(6);
    ring.word(0) = random.below(capacity / 8 + 1) * 8;
    ring_record record;
    std::size_t left = capacity / 8;
    while (ring.reader.next(record) == ring_reader::found::record) {
      ASSERT_GE(record.body.data(), ring.memory.data() + ring_head_bytes);
      ASSERT_LE(record.body.data() + record.body.size(),
                ring.memory.data() + ring.memory.size());
      ring.reader.take(record);
      ASSERT_GT(left--, 0U) << "it comes to an end";
    }
  }
}

}  // namespace
}  // namespace tidegate::runtime
