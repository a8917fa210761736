// The rings of a link to all its peers of this host: makes them, introduces them to their
// readers, and ends those whose connection was given up or whose reader is gone.
//
// Owns the rings. A ring's number is the peer's, which is never used again; peers of rings have
// odd names, so that the other link's may have even ones. Its link calls it from the reactor
// thread; a callback of pump() may add rings and give them up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/base/assert.hpp"
#include "runtime/transport/outgoing_ring.hpp"

namespace tidegate::runtime {

class outgoing_rings {
 public:
  // `self`: from whom hellos and farewells come. Payload that lies in `own` is lent.
  outgoing_rings(const host_place& self, const segment_memory& own, frame_delivery& delivery,
                 deferred_reports& reports) noexcept
      : self_(self), own_(own), delivery_(delivery), reports_(reports) {}

  static bool is_ring(peer_id peer) noexcept { return (peer & 1U) != 0; }

  // Returns the peer of a new ring, which waits for greet(); nothing if it cannot be made.
  std::optional<peer_id> open(const host_place& to);
  // Returns a peer that has no ring and is reported as lost.
  peer_id add_lost(const status& why);
  // Returns the ring to this peer; null if it is gone, or was given up. Hot path.
  outgoing_ring* find(peer_id peer) const noexcept {
    TIDEGATE_ASSERT(peer >> 1U < rings_.size(), "a peer of this link");
    auto* ring = rings_[peer >> 1U].get();
    return ring != nullptr && !ring->departs() ? ring : nullptr;
  }

  // Says hello for the rings that are not introduced yet, as far as their readers' pipes have
  // room. While it is owed to any, owes_notes() is true.
  void greet();
  bool owes_notes() const noexcept { return owes_notes_; }
  // Notes of readers; those that make no sense are left out.
  void on_welcome(const link_hello& note);
  void on_farewell(const link_hello& note);
  void on_refusal(const link_hello& note);

  // Returns true if a connection to that link is not given up.
  bool is_connected_to(std::uint64_t link) const noexcept;
  // Gives the connection up. Returns false if it is gone, or was given up before.
  bool depart(peer_id peer) noexcept;
  // Returns true if connections were given up since list_departing().
  bool is_parting() const noexcept { return parting_; }
  // Returns the numbers of rings whose connections were given up.
  std::vector<std::size_t> list_departing();
  std::uint64_t reader_of(std::size_t ring) const noexcept { return rings_[ring]->reader(); }
  // Ends those of these rings that there still are, and returns how many.
  unsigned end(const std::vector<std::size_t>& departing);

  // Writes what waits for room and tells the tokens of what has been read. Returns how many
  // things happened.
  unsigned pump();
  // Before a sleep the rings that wait for their readers ask to be woken; after it none does.
  void want_room() const noexcept;
  void need_no_room() const noexcept;
  bool has_work() const noexcept;
  // Returns true if all that was sent is where its reader finds it, even without this process.
  bool is_flushed() const noexcept;
  // Says farewell to all readers and ends all rings.
  void close();

 private:
  static peer_id name_of(std::size_t ring) noexcept {
    return static_cast<peer_id>(ring << 1U | 1U);
  }
  void end(std::size_t ring, const status& why);
  void lose(std::size_t ring, const status& why);

  const host_place& self_;
  const segment_memory& own_;
  frame_delivery& delivery_;
  deferred_reports& reports_;
  std::vector<std::unique_ptr<outgoing_ring>> rings_;  // of the gone: null
  bool owes_notes_ = false;
  bool parting_ = false;
};

}  // namespace tidegate::runtime
