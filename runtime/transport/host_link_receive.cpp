#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/transport/host_link_impl.hpp"

namespace tidegate::runtime {

// Up to so many bytes of payload that it lends, and no more of the ring than there is.
unsigned host_link::receive(ring_in& in, std::uint64_t bytes_max) {
  if (in.garbage) return 0;
  unsigned happened = 0;
  const auto before = in.ring.position();
  const auto copied = own_.payload_bytes_copied;
  const auto most = std::min<std::uint64_t>(bytes_max, ring_capacity);
  ring_record record;
  while (in.ring.position() - before < most && own_.payload_bytes_copied - copied < bytes_max) {
    const auto found = in.ring.next(record);
    if (found == ring_reader::found::nothing) break;
    if (found == ring_reader::found::garbage || !take(in, record)) {
      found_garbage(in);
      break;
    }
    in.ring.take(record);
    ++happened;
  }
  if (in.ring.position() == before) return happened;
  desk_view(desk_.data()).read(in.slot).store(in.ring.position(), std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (in.ring.writer_wants_room()) in.rope.pull({});
  return happened;
}

// No more of it is read. One that was retired says nothing else.
void host_link::found_garbage(ring_in& in) {
  in.garbage = in.departs = parting_ = true;
  if (in.ring.is_retired()) return;
  bad_frame({errc::corrupt, "a ring in which nothing more can be understood"});
}

void host_link::bad_frame(const status& why) {
  ++own_.frames_bad;
  bad_.push_back(why);
}

// False: nothing that follows can be understood.
bool host_link::take(ring_in& in, const ring_record& record) {
  if (record.kind == record_kind::piece) return take_piece(in, record.body);
  if (in.missing > 0 || record.body.size() < frame_header_bytes) return false;
  // The writer cannot change it any more while it is looked at.
  frame_header_wire wire;
  std::memcpy(wire.data(), record.body.data(), wire.size());
  const auto rest = record.body.subspan(wire.size());
  const bool whole = record.kind == record_kind::frame;
  const auto header = decode(wire, whole ? rest.size() : claimed_payload_bytes(wire));
  if (!header) {
    bad_frame(header.error());
    return whole || record.kind == record_kind::lent;
  }
  if (whole) take_frame(*header, rest);
  if (whole) return true;
  if (record.kind == record_kind::lent) return take_lent(in, *header, rest);
  if (record.kind != record_kind::begin || header->payload_bytes == 0) return false;
  in.arriving = *header;
  in.missing = header->payload_bytes;
  in.place = place_for(*header);
  return true;
}

buffer host_link::place_for(const frame_header& header) {
  auto place = sink_->place(header);
  if (!place) {
    ++own_.frames_refused;
    return place;
  }
  TIDEGATE_ASSERT(place.size() == header.payload_bytes, "a place fits its payload");
  return place;
}

void host_link::arrived(const frame_header& header, buffer place) {
  ++own_.frames_received;
  own_.payload_bytes_received += place.size();
  sink_->on_frame(header, std::move(place));
}

void host_link::take_frame(const frame_header& header, std::span<const std::byte> payload) {
  if (payload.empty()) return arrived(header, {});
  auto place = place_for(header);
  if (!place) return;
  std::memcpy(place.data(), payload.data(), payload.size());
  own_.payload_bytes_copied += payload.size();
  arrived(header, std::move(place));
}

// False also when it cannot be had: its sender may live, and would not hear that it is lost.
bool host_link::take_lent(ring_in& in, const frame_header& header,
                          std::span<const std::byte> name) {
  const auto payload = lent_to(in, name, header.payload_bytes);
  if (payload.empty()) return false;
  auto place = place_for(header);
  if (!place) return true;
  std::memcpy(place.data(), payload.data(), payload.size());
  own_.payload_bytes_copied += payload.size();
  if (in.ring.is_retired()) {
    frames_lost_.push_back(header);
    return false;
  }
  arrived(header, std::move(place));
  return true;
}

bool host_link::take_piece(ring_in& in, std::span<const std::byte> piece) {
  if (piece.empty() || piece.size() > in.missing) return false;
  if (in.place) {
    auto* at = in.place.data() + (in.arriving.payload_bytes - in.missing);
    std::memcpy(at, piece.data(), piece.size());
    own_.payload_bytes_copied += piece.size();
  }
  in.missing -= piece.size();
  if (in.missing == 0 && in.place) arrived(in.arriving, std::exchange(in.place, {}));
  return true;
}

// Empty when it is not there.
std::span<const std::byte> host_link::lent_to(ring_in& in, std::span<const std::byte> name,
                                              std::uint64_t bytes) {
  segment_memory::name lies;
  if (name.size() != sizeof lies) return {};
  std::memcpy(&lies, name.data(), sizeof lies);
  auto known = std::find_if(in.lent.begin(), in.lent.end(),
                            [&](const auto& entry) { return entry.name() == lies.segment; });
  if (known == in.lent.end()) {
    auto opened = segment::open(lies.segment);
    if (!opened) return {};
    opened->hide();
    known = in.lent.insert(in.lent.end(), std::move(*opened));
  }
  if (lies.offset > known->size() || bytes > known->size() - lies.offset) return {};
  return {known->data() + lies.offset, bytes};
}

// The ring is read no more; what it was given a place for does not come.
void host_link::drop(ring_in& in) {
  if (in.missing > 0 && in.place) frames_lost_.push_back(in.arriving);
  in.place = {};
  in.dropped = true;
  say_refusal(in.number, std::move(in.rope));
  free_slots_.push_back(in.slot);
}

}  // namespace tidegate::runtime
