#include "runtime/transport/incoming_rings.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace tidegate::runtime {

namespace {

// Returns why a ring cannot be read; nothing if it can.
std::string obstacle_to(const expected<segment>& memory, const cursor_page& own) {
  if (!memory) return memory.error().message();
  if (memory->size() < ring_bytes) return "its ring is too small";
  if (own.is_full())
    return "there are " + std::to_string(cursor_page_view::slots) + " others already";
  return {};
}

}  // namespace

bool incoming_rings::admit(const link_hello& hello) {
  if (hello.from.magic != self_.magic) {
    report(hello, "its link is of another version");
    return false;
  }
  if (is_gone(hello.from.pipe)) return false;  // it has died since
  auto wakeup = wakeup_writer::open(hello.from.pipe);
  if (!wakeup) {
    report(hello, wakeup.error().message());
    return false;
  }
  auto memory = segment::open(hello.ring);
  if (const auto why = obstacle_to(memory, cursors_); !why.empty()) {
    // A ring that its writer has given up meanwhile cannot be opened, and is nobody's loss.
    if (is_gone(hello.ring)) return false;
    refuse(hello.number, std::move(*wakeup));
    report(hello, why);
    return false;
  }
  rings_.push_back(std::make_unique<incoming_ring>(
      hello, std::move(*wakeup), std::move(*memory), cursors_, delivery_, reports_));
  owes_notes_ = true;
  return true;
}

void incoming_rings::report(const link_hello& hello, const std::string& why) {
  reports_.bad_frame({errc::corrupt, "process " + std::to_string(hello.from.pipe.pid) +
                                         " of this host cannot be listened to: " + why});
}

// Its writer would wait for this ring for ever if it were not told.
void incoming_rings::refuse(std::uint64_t number, wakeup_writer wakeup) {
  const link_hello note{.kind = note_kind::refusal, .number = number, .from = self_};
  if (wakeup.pull(note)) return;
  refusals_.push_back({std::move(wakeup), note});
  owes_notes_ = true;
}

void incoming_rings::send_refusals() {
  std::erase_if(refusals_, [](const refusal& owed) {
    return owed.wakeup.pull(owed.note) || is_gone(owed.wakeup.name());
  });
  owes_notes_ = !refusals_.empty();
}

void incoming_rings::send_welcomes() {
  const link_hello note{.kind = note_kind::welcome, .from = self_};
  for (auto& ring : rings_) {
    if (ring->is_welcomed()) continue;
    ring->welcome(note);
    owes_notes_ = owes_notes_ || !ring->is_welcomed();
  }
}

unsigned incoming_rings::receive(std::uint64_t ring_bytes_max) {
  unsigned happened = 0;
  for (std::size_t i = 0; i < rings_.size(); ++i)
    happened += receive(*rings_[i], ring_bytes_max);
  return happened;
}

unsigned incoming_rings::receive(incoming_ring& ring, std::uint64_t bytes_max) {
  if (ring.is_garbage()) return 0;
  const auto happened = ring.receive(bytes_max);
  parting_ = parting_ || ring.is_garbage();
  return happened;
}

bool incoming_rings::has_work() const noexcept {
  return std::any_of(rings_.begin(), rings_.end(),
                     [](const auto& ring) { return !ring->is_empty(); });
}

void incoming_rings::depart(std::uint64_t link) noexcept {
  for (auto& ring : rings_) {
    if (ring->writer().link != link) continue;
    ring->depart();
    parting_ = true;
  }
}

void incoming_rings::sweep() noexcept {
  for (auto& ring : rings_) {
    if (outgoing_.is_connected_to(ring->writer().link) || !is_gone(ring->writer().pipe))
      continue;
    ring->depart();
    parting_ = true;
  }
}

unsigned incoming_rings::drop_departing() {
  parting_ = false;
  unsigned happened = 0;
  for (std::size_t i = 0; i < rings_.size(); ++i) {
    auto& ring = *rings_[i];
    if (!ring.departs()) continue;
    receive(ring, std::numeric_limits<std::uint64_t>::max());
    refuse(ring.number(), ring.drop());
    ++happened;
  }
  std::erase_if(rings_, [](const auto& ring) { return ring->is_dropped(); });
  return happened;
}

void incoming_rings::close() {
  const link_hello farewell{.kind = note_kind::farewell, .from = self_};
  for (auto& ring : rings_) ring->say_farewell(farewell);
  rings_.clear();
}

}  // namespace tidegate::runtime
