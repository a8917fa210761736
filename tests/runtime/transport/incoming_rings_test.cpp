// The rings of one link that write, and those of another that read, without the links.
#include "runtime/transport/incoming_rings.hpp"

#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/transport/outgoing_rings.hpp"
#include "tests/support/link_recorder.hpp"

namespace tidegate::runtime {
namespace {

using tests::push_header;
using tests::recorder;

constexpr std::uint64_t turn_bytes = 64U << 10U;

struct side {
  explicit side(std::uint64_t link) {
    auto opened = wakeup_pipe::create();
    EXPECT_TRUE(opened && own.open().ok());
    pipe = std::move(*opened);
    self = {.magic = 1, .link = link, .pipe = pipe.name(), .cursors = own.name()};
    delivery.set_sink(&sink);
  }
  link_hello next_note() {
    std::array<link_hello, 1> notes;
    EXPECT_EQ(pipe.read(notes), 1U);
    return notes[0];
  }

  recorder sink;
  link_counters counters;
  frame_delivery delivery{counters};
  deferred_reports reports{delivery};
  wakeup_pipe pipe;
  cursor_page own;
  host_place self;
  segment_memory memory;
  outgoing_rings outgoing{self, memory, delivery, reports};
  incoming_rings incoming{self, own, outgoing, delivery, reports};
};

class host_rings_test : public testing::Test {
 protected:
  // Returns the ring from `writer` to `reader`, which are introduced to each other.
  outgoing_ring* connect() {
    const auto peer = writer.outgoing.open(reader.self);
    EXPECT_TRUE(peer);
    to_reader = *peer;
    EXPECT_TRUE(writer.outgoing.owes_notes());
    writer.outgoing.greet();
    EXPECT_FALSE(writer.outgoing.owes_notes());
    EXPECT_TRUE(reader.incoming.admit(reader.next_note()));
    reader.incoming.send_welcomes();
    writer.outgoing.on_welcome(writer.next_note());
    return writer.outgoing.find(to_reader);
  }

  side writer{11}, reader{12};
  peer_id to_reader = 0;
};

TEST_F(host_rings_test, a_token_is_told_when_what_was_lent_has_been_read) {
  auto* ring = connect();
  auto lent = writer.memory.allocate(1U << 20U);
  const auto payload = lent.bytes().first(20'000);
  ring->send({.header = push_header(payload.size(), 1), .payload = payload, .token = 9});
  EXPECT_EQ(writer.outgoing.pump(), 0U);
  EXPECT_TRUE(writer.sink.sent.empty());
  EXPECT_TRUE(reader.incoming.has_work());
  EXPECT_EQ(reader.incoming.receive(turn_bytes), 1U);
  EXPECT_FALSE(reader.incoming.has_work());
  ASSERT_EQ(reader.sink.arrivals.size(), 1U);
  EXPECT_EQ(reader.counters.payload_bytes_copied, payload.size()) << "once";
  EXPECT_TRUE(writer.outgoing.has_work());
  EXPECT_EQ(writer.outgoing.pump(), 1U);
  EXPECT_TRUE(writer.sink.sent[9].ok());
  EXPECT_TRUE(writer.outgoing.is_flushed());
}

TEST_F(host_rings_test, what_finds_no_room_waits_and_ends_with_its_ring) {
  auto* ring = connect();
  const std::vector<std::byte> large(2 * ring_capacity);
  ring->send({.header = push_header(large.size(), 1), .payload = large, .token = 9});
  EXPECT_TRUE(ring->has_backlog());
  EXPECT_FALSE(writer.outgoing.is_flushed());
  EXPECT_TRUE(writer.outgoing.depart(to_reader));
  EXPECT_FALSE(writer.outgoing.depart(to_reader)) << "it was given up before";
  EXPECT_EQ(writer.outgoing.find(to_reader), nullptr);
  ASSERT_TRUE(writer.outgoing.is_parting());
  EXPECT_EQ(writer.outgoing.end(writer.outgoing.list_departing()), 1U);
  EXPECT_FALSE(writer.outgoing.is_parting());
  writer.reports.tell();
  EXPECT_FALSE(writer.sink.sent[9].ok());
  EXPECT_TRUE(writer.sink.lost.empty()) << "its owner gave it up";
}

TEST_F(host_rings_test, a_ring_that_departs_is_read_to_its_end_and_refused) {
  auto* ring = connect();
  const std::vector<std::byte> payload(100);
  ring->send({.header = push_header(payload.size(), 1), .payload = payload, .token = 0});
  reader.incoming.depart(writer.self.link);
  ASSERT_TRUE(reader.incoming.is_parting());
  EXPECT_EQ(reader.incoming.drop_departing(), 1U);
  EXPECT_FALSE(reader.incoming.is_parting());
  EXPECT_EQ(reader.sink.arrivals.size(), 1U);
  const auto refusal = writer.next_note();
  EXPECT_EQ(refusal.kind, note_kind::refusal);
  writer.outgoing.on_refusal(refusal);
  writer.reports.tell();
  EXPECT_EQ(writer.sink.lost, std::vector{to_reader});
}

TEST_F(host_rings_test, who_finds_a_full_page_is_refused_and_reported) {
  while (!reader.own.is_full()) reader.own.take_slot();
  ASSERT_TRUE(writer.outgoing.open(reader.self));
  writer.outgoing.greet();
  EXPECT_FALSE(reader.incoming.admit(reader.next_note()));
  EXPECT_EQ(writer.next_note().kind, note_kind::refusal);
  EXPECT_FALSE(reader.incoming.owes_notes());
  reader.reports.tell();
  ASSERT_EQ(reader.sink.bad.size(), 1U);
  EXPECT_NE(reader.sink.bad[0].find("others already"), std::string::npos);
}

}  // namespace
}  // namespace tidegate::runtime
