// The gate decides which connections the coordinator's control port lets in. A connection is a
// stranger until it has proven the run's token (handshake.hpp), and waits in a stranger_room.
//
// A core: the shell accepts, reads, sends and closes. It allocates when it is made and never
// for a stranger. Times are nanoseconds of a clock that never goes back. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "policies/protocol/handshake.hpp"
#include "runtime/base/stranger_room.hpp"

namespace tidegate::policies {

using gate_limits = runtime::stranger_limits;

struct gate_counters {
  std::uint64_t accepted = 0;
  std::uint64_t admitted = 0;
  std::uint64_t refused_version = 0;  // said something else than a handshake
  std::uint64_t refused_proof = 0;    // had a wrong proof
  std::uint64_t refused_late = 0;     // said too little for too long
  std::uint64_t departed = 0;         // closed before they had proven anything

  std::uint64_t refused() const noexcept {
    return refused_version + refused_proof + refused_late + departed;
  }
};

class connection_gate {
 public:
  using slot = runtime::stranger_room::slot;

  connection_gate(std::uint64_t token, const gate_limits& limits = {});

  // Returns true if a connection may be accepted now. Otherwise next_deadline() says when to
  // ask again.
  bool may_accept(std::int64_t now) { return room_.may_accept(now); }
  // Returns the stranger whose place the next connection takes; its slot is free, and the shell
  // closes its connection. Returns nothing if there is room.
  std::optional<slot> make_room();
  // Takes in a connection that has been accepted, after may_accept() and make_room(). `drawn`
  // is drawn for this connection alone. Returns its slot; the shell sends handshake(slot)'s
  // challenge.
  slot accepted(std::int64_t now, const nonce& drawn);
  // Returns the handshake of a stranger. Valid until its slot is free.
  const listener_handshake& handshake(slot of) const;
  // Takes in bytes of a stranger, handshake(from).wants() at most. If the result is `proven`,
  // its slot is free, and the shell sends `confirmation` and hands the connection on. If
  // `waiting`, nothing changes. Else its slot is free, and the shell closes the connection.
  handshake_state received(slot from, std::span<const std::byte> bytes,
                           runtime::digest& confirmation);
  // The system has no descriptor or memory for another connection: none is accepted for a
  // while.
  void accept_failed(std::int64_t now) noexcept { room_.accept_failed(now); }
  // The stranger has closed its connection, or the connection broke: its slot is free.
  void departed(slot from);
  // Appends the strangers whose time is up. Their slots are free, and the shell closes their
  // connections.
  void expire(std::int64_t now, std::vector<slot>& late);
  // Returns when expire(), may_accept() or report() has something new; nothing if only after
  // another event.
  std::optional<std::int64_t> next_deadline() const {
    return room_.next_deadline(counters_.refused());
  }
  // Returns how many connections have been refused so far, if that number has risen since the
  // last report and it is time for another.
  std::optional<std::uint64_t> report(std::int64_t now);

  std::size_t strangers() const noexcept { return room_.strangers(); }
  const gate_counters& counters() const noexcept { return counters_; }

 private:
  void leave(slot leaver) { room_.leave(leaver); }

  std::uint64_t token_;
  runtime::stranger_room room_;
  std::vector<listener_handshake> handshakes_;  // by slot
  gate_counters counters_;
};

}  // namespace tidegate::policies
