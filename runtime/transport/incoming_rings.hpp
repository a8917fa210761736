// The rings that peers of this host write to this process: takes them in when their writers say
// hello, reads them in turns, and drops those that are not read any more.
//
// Owns the rings, and the refusals that their writers have not heard of because a pipe was
// full. Its link calls it from the reactor thread; a callback of receive() may mark rings as
// departing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/transport/incoming_ring.hpp"
#include "runtime/transport/outgoing_rings.hpp"

namespace tidegate::runtime {

class incoming_rings {
 public:
  // `self`: from whom welcomes, refusals and farewells come. The page of cursors must be open
  // when the first ring comes.
  incoming_rings(const host_place& self, cursor_page& own, const outgoing_rings& outgoing,
                 frame_delivery& delivery, deferred_reports& reports) noexcept
      : self_(self),
        cursors_(own),
        outgoing_(outgoing),
        delivery_(delivery),
        reports_(reports) {}

  // Takes in the ring of this hello. Returns true if it did; the ring then waits for
  // send_welcomes(). Refuses a ring that cannot be read, and reports it.
  bool admit(const link_hello& hello);
  // Notes that are owed, as far as the pipes of writers have room; while they are owed to any,
  // owes_notes() is true. Refusals go before what else is said to a peer, welcomes after.
  void send_refusals();
  void send_welcomes();
  bool owes_notes() const noexcept { return owes_notes_; }

  // One turn: up to so many bytes of each ring. Returns how many things happened.
  unsigned receive(std::uint64_t ring_bytes_max);
  bool has_work() const noexcept;

  // The rings of this link are not read any more: it has closed, or was disconnected from.
  void depart(std::uint64_t link) noexcept;
  // Nor are the rings of writers that died before this link ever connected to them, so that
  // nobody will tell of their death.
  void sweep() noexcept;
  // Returns true if rings have begun to depart since drop_departing().
  bool is_parting() const noexcept { return parting_; }
  // Drops the rings that depart, and returns how many. What is left in them is read before
  // their writers are told, who give what they lent away then.
  unsigned drop_departing();
  // Says farewell to all writers and ends all rings.
  void close();

 private:
  // A refusal that waits because the pipe of the ring's writer was full.
  struct refusal {
    wakeup_writer wakeup;
    link_hello note;
  };

  unsigned receive(incoming_ring& ring, std::uint64_t bytes_max);
  void refuse(std::uint64_t number, wakeup_writer wakeup);
  void report(const link_hello& hello, const std::string& why);

  const host_place& self_;
  cursor_page& cursors_;
  const outgoing_rings& outgoing_;
  frame_delivery& delivery_;
  deferred_reports& reports_;
  std::vector<std::unique_ptr<incoming_ring>> rings_;
  std::vector<refusal> refusals_;
  bool owes_notes_ = false;
  bool parting_ = false;
};

}  // namespace tidegate::runtime
