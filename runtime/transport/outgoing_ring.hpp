// A frame ring of this process to a peer of its host: writes frames into it, keeps those that
// find no room and the tokens of those that are not read yet, and wakes a reader that sleeps.
//
// Owns the ring's memory, the reader's pipe and page of cursors as this process sees them, and
// all that is on its way. It carries frames at once; the reader's slot comes with its welcome,
// and until then nothing counts as read. Its link calls it from the reactor thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "runtime/base/status.hpp"
#include "runtime/memory/segment.hpp"
#include "runtime/memory/segment_memory.hpp"
#include "runtime/transport/deferred_reports.hpp"
#include "runtime/transport/fifo.hpp"
#include "runtime/transport/frame_ring.hpp"
#include "runtime/transport/link.hpp"
#include "runtime/transport/ring_cursors.hpp"
#include "runtime/transport/wakeup_pipe.hpp"

namespace tidegate::runtime {

class outgoing_ring {
 public:
  // Payload that lies in `own` is lent.
  explicit outgoing_ring(const segment_memory& own) noexcept : own_(own) {}

  // Comes first. Errors: io_error (no descriptor, no memory), unavailable and corrupt (the peer
  // is gone or of another user, or what it names is no page of cursors).
  status open(const host_place& to);

  // Returns the number of the link that reads the ring.
  std::uint64_t reader() const noexcept { return to_.link; }
  // The connection was given up; the ring ends in the next part().
  void depart() noexcept { departs_ = true; }
  bool departs() const noexcept { return departs_; }

  // Introduces the ring with this hello. Until its reader's pipe had room, is_greeted() is
  // false.
  void greet(link_hello hello);
  bool is_greeted() const noexcept { return greeted_; }
  // The reader tells how far it has read in this slot of its page of cursors.
  void on_welcome(std::uint32_t slot) noexcept;

  // Writes the frame, or keeps it until there is room. Hot path.
  void send(const outgoing& frame);
  // Returns true if frames wait for room.
  bool has_backlog() const noexcept { return !frames_.empty(); }
  // Wakes the reader if it sleeps; if it is patient, only for what is urgent.
  void wake(bool urgent);
  // Writes what waits for room and tells the tokens of what has been read. Returns how many
  // things happened.
  unsigned pump(frame_delivery& delivery) { return is_idle() ? 0 : go_on(delivery); }

  // Has the reader say when it has read on, if that is waited for.
  void want_room() noexcept {
    if (!is_idle()) ring_.want_room(true);
  }
  void need_no_room() noexcept { ring_.want_room(false); }
  // Returns true if pump() would do something.
  bool has_work() noexcept;
  // Returns true if all that was sent is where the reader finds it, even when this process
  // ends.
  bool is_flushed() const noexcept;

  // Takes back what was lent and reports all that is on its way as failed.
  void end(deferred_reports& reports, const status& why);
  // Says farewell; takes back what was lent, if not all of it has been read.
  void close(const link_hello& farewell) noexcept;

 private:
  // A frame that has not gone out whole.
  struct waiting {
    frame_header header;
    std::span<const std::byte> payload;
    send_token token = 0;
    bool begun = false;    // its header is out
    std::size_t gone = 0;  // of its payload, likewise
  };
  // A token that is told once so much of the ring has been read.
  struct unsent {
    send_token token = 0;
    std::uint64_t position = 0;
  };

  bool is_idle() const noexcept { return frames_.empty() && tokens_.empty(); }
  std::uint64_t read() const noexcept;
  std::byte* begin(record_kind kind, const frame_header& header, std::size_t more);
  bool put(waiting& frame);
  bool put_pieces(waiting& frame);
  unsigned go_on(frame_delivery& delivery);

  const segment_memory& own_;
  host_place to_;
  wakeup_writer wakeup_;
  segment cursors_;
  segment memory_;
  ring_writer ring_;
  std::optional<std::uint32_t> slot_;  // of their page of cursors, once they said which
  bool greeted_ = false;
  bool departs_ = false;
  std::uint32_t rung_ = 0;  // for which of its sleeps
  fifo<waiting> frames_;
  fifo<unsent> tokens_;
};

}  // namespace tidegate::runtime
