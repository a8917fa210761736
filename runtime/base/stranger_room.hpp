// The room where connections wait that have proven nothing yet. It has a number of slots, and
// each stranger has a time limit. When the room is full, the stranger that has waited longest
// leaves for the next; so silent connections keep nobody out.
//
// A core: its owner accepts, reads and closes. It allocates when it is made and never for a
// stranger. Times are nanoseconds of a clock that never goes back. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace tidegate::runtime {

struct stranger_limits {
  std::size_t strangers_max = 256;
  std::int64_t handshake_ns = 2'000'000'000;
  // When the room is full, a stranger has at least this long.
  std::int64_t crowded_ns = 100'000'000;
  // Connections that are accepted per second in the long run, and at once.
  std::uint32_t accepted_per_second = 2'000;
  std::uint32_t accepted_at_once = 1'024;
  // The count of the refused is reported at most once in this time.
  std::int64_t report_ns = 10'000'000'000;
};

class stranger_room {
 public:
  using slot = std::uint32_t;  // below stranger_limits::strangers_max

  explicit stranger_room(const stranger_limits& limits = {});

  // Returns true if a connection may be accepted now. Otherwise next_deadline() says when to
  // ask again.
  bool may_accept(std::int64_t now);
  // Frees the slot of the stranger whose place the next connection takes, and returns it.
  // Returns nothing if there is room.
  std::optional<slot> make_room();
  // Takes in a connection that has been accepted, after may_accept() and make_room().
  slot accepted(std::int64_t now);
  // The system has no descriptor or memory for another connection: none is accepted for a
  // while.
  void accept_failed(std::int64_t now) noexcept;
  // Frees the slot (asserted: somebody has it).
  void leave(slot leaver);
  // Frees the slots of those whose time is up, and appends them.
  void expire(std::int64_t now, std::vector<slot>& late);
  bool is_present(slot of) const { return waiting_.at(of).present; }
  // Returns when expire() or may_accept() has something new, or, if more are `refused` than
  // were reported, report(); nothing if only after another event.
  std::optional<std::int64_t> next_deadline(std::uint64_t refused) const;
  // Takes in how many have been refused so far. Returns true if there are more than were
  // reported, and it is time for another report.
  bool report(std::uint64_t refused, std::int64_t now);

  std::size_t strangers() const noexcept { return strangers_; }
  std::size_t slots() const noexcept { return waiting_.size(); }

 private:
  struct stranger {
    std::int64_t since = 0;
    bool present = false;
  };

  bool is_full() const noexcept { return strangers_ == waiting_.size(); }
  // Precondition: there are some.
  slot oldest() const noexcept;
  std::int64_t accept_interval() const noexcept;

  stranger_limits limits_;
  std::vector<stranger> waiting_;
  std::size_t strangers_ = 0;
  // A connection may be accepted from then on; it lies back as far as several may come at once.
  std::int64_t accept_from_;
  bool waits_to_accept_ = false;
  std::int64_t accept_at_ = 0;
  std::uint64_t reported_ = 0;
  std::int64_t report_from_ = 0;
};

}  // namespace tidegate::runtime
