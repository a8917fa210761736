// How processes of one host wake each other, and what they say to each other before frames can
// flow: a pipe without a name. Its maker reads; others open it through /proc/PID/fd and write
// whole notes, which the kernel keeps whole. It has no path, so nothing is left behind by any
// exit, and it is a descriptor to sleep on.
//
// Notes come from processes of the same user; what they say is checked by whoever reads. One
// thread each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/status.hpp"
#include "runtime/base/unique_fd.hpp"
#include "runtime/memory/segment.hpp"

namespace tidegate::runtime {

// The inode tells the right pipe from one that took its descriptor's number later.
struct wakeup_pipe_name {
  std::uint32_t pid = 0;
  std::uint32_t fd = 0;
  std::uint64_t inode = 0;

  friend bool operator==(const wakeup_pipe_name&, const wakeup_pipe_name&) = default;
};

// How a link of this host is reached, as it lies in memory.
struct host_place {
  std::uint64_t magic = 0;
  std::uint64_t link = 0;  // random, no two of a host have the same; 0: has no rings
  wakeup_pipe_name pipe;
  segment_name cursors;

  friend bool operator==(const host_place&, const host_place&) = default;
};
static_assert(sizeof(host_place) == 56);

enum class note_kind : std::uint32_t {
  wake = 0,      // there is something to do
  hello = 1,     // here is my ring to you
  welcome = 2,   // I read it, and tell how far in `slot` of my page of cursors
  farewell = 3,  // my link is closed: I read and write no more
  refusal = 4,   // I do not read this ring of yours, or no more of it
};

struct link_hello {
  note_kind kind = note_kind::wake;
  std::uint32_t slot = 0;
  std::uint64_t number = 0;  // of the ring, its writer's; of all but wake and farewell
  host_place from{};
  segment_name ring{};  // of a hello
};
static_assert(sizeof(link_hello) <= 128, "a write to a pipe that is whole or not at all");

class wakeup_pipe {
 public:
  // Errors: io_error (no descriptor left).
  static expected<wakeup_pipe> create();

  const wakeup_pipe_name& name() const noexcept { return name_; }
  int fd() const noexcept { return reader_.get(); }  // readable when somebody rang
  // Takes notes out, and returns how many; fewer than there is room for: no more are there.
  std::size_t read(std::span<link_hello> notes) noexcept;

 private:
  wakeup_pipe_name name_;
  unique_fd reader_;
  unique_fd writer_;  // by which others find it
};

// Somebody else's.
class wakeup_writer {
 public:
  // Errors: unavailable (it is gone, on another host, or of another user).
  static expected<wakeup_writer> open(const wakeup_pipe_name& name);
  const wakeup_pipe_name& name() const noexcept { return name_; }
  // False when the pipe is full: then its reader has much to read already.
  bool pull(const link_hello& note) const noexcept;

 private:
  wakeup_pipe_name name_;
  unique_fd fd_;
};

// Whether the process that made it has ended, or given it up. False also where we may not know.
bool is_gone(const wakeup_pipe_name& name) noexcept;
// Whether the process that made it has given it up, and lives. False also where we may not
// know.
bool is_given_up(const wakeup_pipe_name& name) noexcept;

}  // namespace tidegate::runtime
