#include "runtime/transport/incoming_ring.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "runtime/memory/segment_memory.hpp"

namespace tidegate::runtime {

incoming_ring::incoming_ring(const link_hello& hello, wakeup_writer wakeup, segment memory,
                             cursor_page& own, frame_delivery& delivery,
                             deferred_reports& reports)
    : cursors_(own),
      delivery_(delivery),
      reports_(reports),
      writer_(hello.from),
      number_(hello.number),
      wakeup_(std::move(wakeup)),
      memory_(std::move(memory)),
      ring_({memory_.data(), ring_bytes}),
      slot_(own.take_slot()) {
  memory_.hide();
}

void incoming_ring::welcome(link_hello note) {
  note.number = number_;
  note.slot = slot_;
  welcomed_ = wakeup_.pull(note);
}

// Up to so many bytes of payload that it lends, and no more of the ring than there is.
unsigned incoming_ring::receive(std::uint64_t bytes_max) {
  unsigned happened = 0;
  const auto before = ring_.position();
  const auto copied = delivery_.bytes_copied();
  const auto most = std::min<std::uint64_t>(bytes_max, ring_capacity);
  ring_record record;
  while (ring_.position() - before < most && delivery_.bytes_copied() - copied < bytes_max) {
    const auto found = ring_.next(record);
    if (found == ring_reader::found::nothing) break;
    if (found == ring_reader::found::garbage || !take(record)) {
      found_garbage();
      break;
    }
    ring_.take(record);
    ++happened;
  }
  if (ring_.position() == before) return happened;
  cursors_.show_read(slot_, ring_.position());
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (ring_.writer_wants_room()) wakeup_.pull({});
  return happened;
}

// No more of it is read. One that was retired says nothing else.
void incoming_ring::found_garbage() {
  garbage_ = departs_ = true;
  if (ring_.is_retired()) return;
  reports_.bad_frame({errc::corrupt, "a ring in which nothing more can be understood"});
}

// False: nothing that follows can be understood.
bool incoming_ring::take(const ring_record& record) {
  if (record.kind == record_kind::piece) return take_piece(record.body);
  if (missing_ > 0 || record.body.size() < frame_header_bytes) return false;
  // The writer cannot change it any more while it is looked at.
  frame_header_wire wire;
  std::memcpy(wire.data(), record.body.data(), wire.size());
  const auto rest = record.body.subspan(wire.size());
  const bool whole = record.kind == record_kind::frame;
  const auto header = decode(wire, whole ? rest.size() : claimed_payload_bytes(wire));
  if (!header) {
    reports_.bad_frame(header.error());
    return whole || record.kind == record_kind::lent;
  }
  if (whole) delivery_.take(*header, rest);
  if (whole) return true;
  if (record.kind == record_kind::lent) return take_lent(*header, rest);
  if (record.kind != record_kind::begin || header->payload_bytes == 0) return false;
  arriving_ = *header;
  missing_ = header->payload_bytes;
  place_ = delivery_.place(*header);
  return true;
}

// False also when it cannot be had: its sender may live, and would not hear that it is lost.
bool incoming_ring::take_lent(const frame_header& header, std::span<const std::byte> name) {
  const auto payload = lent_to(name, header.payload_bytes);
  if (payload.empty()) return false;
  auto place = delivery_.place(header);
  if (!place) return true;
  delivery_.copy(place.data(), payload);
  if (ring_.is_retired()) {
    reports_.frame_lost(header);
    return false;
  }
  delivery_.deliver(header, std::move(place));
  return true;
}

bool incoming_ring::take_piece(std::span<const std::byte> piece) {
  if (piece.empty() || piece.size() > missing_) return false;
  if (place_) delivery_.copy(place_.data() + (arriving_.payload_bytes - missing_), piece);
  missing_ -= piece.size();
  if (missing_ == 0 && place_) delivery_.deliver(arriving_, std::exchange(place_, {}));
  return true;
}

// Empty when it is not there.
std::span<const std::byte> incoming_ring::lent_to(std::span<const std::byte> name,
                                                  std::uint64_t bytes) {
  segment_memory::name lies;
  if (name.size() != sizeof lies) return {};
  std::memcpy(&lies, name.data(), sizeof lies);
  auto known = std::find_if(lent_.begin(), lent_.end(),
                            [&](const auto& entry) { return entry.name() == lies.segment; });
  if (known == lent_.end()) {
    auto opened = segment::open(lies.segment);
    if (!opened) return {};
    opened->hide();
    known = lent_.insert(lent_.end(), std::move(*opened));
  }
  if (lies.offset > known->size() || bytes > known->size() - lies.offset) return {};
  return {known->data() + lies.offset, bytes};
}

// What it was given a place for does not come.
wakeup_writer incoming_ring::drop() {
  if (missing_ > 0 && place_) reports_.frame_lost(arriving_);
  place_ = {};
  dropped_ = true;
  cursors_.give_back(slot_);
  return std::move(wakeup_);
}

}  // namespace tidegate::runtime
