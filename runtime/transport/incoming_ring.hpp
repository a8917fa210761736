// A frame ring that a peer of this host writes: reads its records, puts frames together that
// arrive in pieces, and copies payload that the writer lends from where it lies.
//
// Owns the ring as this process sees it, its slot of the page of cursors, the frame that is
// arriving and the writer's memory that was lent. Trusts nothing that it finds. Its link calls
// it from the reactor thread, inside progress().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/memory/segment.hpp"
#include "runtime/transport/deferred_reports.hpp"
#include "runtime/transport/frame_delivery.hpp"
#include "runtime/transport/frame_ring.hpp"
#include "runtime/transport/ring_cursors.hpp"
#include "runtime/transport/wakeup_pipe.hpp"

namespace tidegate::runtime {

class incoming_ring {
 public:
  // The ring of this hello, which is `memory`; `wakeup` leads to its writer. The page of
  // cursors has a free slot.
  incoming_ring(const link_hello& hello, wakeup_writer wakeup, segment memory, cursor_page& own,
                frame_delivery& delivery, deferred_reports& reports);

  const host_place& writer() const noexcept { return writer_; }
  // Returns the writer's number of the ring.
  std::uint64_t number() const noexcept { return number_; }
  // Tells the writer that the ring is read. Until its pipe had room, is_welcomed() is false.
  void welcome(link_hello note);
  bool is_welcomed() const noexcept { return welcomed_; }

  // Reads records, and tells how far, until they have been as many bytes, payload that was
  // copied or ring, or there are none. Returns how many things happened. Hot path.
  unsigned receive(std::uint64_t bytes_max);
  bool is_empty() const noexcept { return ring_.is_empty(); }
  // Nothing in it can be understood any more; it departs.
  bool is_garbage() const noexcept { return garbage_; }

  // The ring is read once more, to its end, and then dropped.
  void depart() noexcept { departs_ = true; }
  bool departs() const noexcept { return departs_; }
  // Gives up what is arriving, and the slot. Returns the way to wake the writer, to refuse the
  // ring by.
  wakeup_writer drop();
  bool is_dropped() const noexcept { return dropped_; }
  void say_farewell(const link_hello& farewell) const noexcept { wakeup_.pull(farewell); }

 private:
  bool take(const ring_record& record);
  bool take_lent(const frame_header& header, std::span<const std::byte> name);
  bool take_piece(std::span<const std::byte> piece);
  std::span<const std::byte> lent_to(std::span<const std::byte> name, std::uint64_t bytes);
  void found_garbage();

  cursor_page& cursors_;
  frame_delivery& delivery_;
  deferred_reports& reports_;
  host_place writer_;
  std::uint64_t number_;
  wakeup_writer wakeup_;
  segment memory_;
  ring_reader ring_;
  std::uint32_t slot_;
  bool welcomed_ = false;
  bool garbage_ = false;
  bool departs_ = false;
  bool dropped_ = false;
  // The frame whose payload is arriving in pieces.
  frame_header arriving_;
  buffer place_;  // empty: it was refused
  std::uint64_t missing_ = 0;
  std::vector<segment> lent_;  // of its payload
};

}  // namespace tidegate::runtime
