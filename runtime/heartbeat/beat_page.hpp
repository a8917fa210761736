// A page of memory that a launcher shares with one process that it starts, in which the process
// counts its beats (heartbeat.hpp). Each incarnation of a process has a page of its own, so
// that a incarnation that was given up, and wakes, does not beat for the one after it. Movable;
// one thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/base/status.hpp"
#include "runtime/base/unique_fd.hpp"

namespace tidegate::runtime {

// At the beginning of the page.
struct beat_record {
  std::uint64_t token = 0;               // of the run: by it the process knows the page
  std::atomic<std::uint64_t> beats = 0;  // rises; 0: nobody has promised to beat, or no more
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "processes share it");

class beat_page {
 public:
  // Errors: io_error (no more descriptors, or memory).
  static expected<beat_page> make(std::uint64_t token);
  // The page behind a descriptor that the launcher has left open. Errors: not_found (no such
  // descriptor, or something else).
  static expected<beat_page> open(int fd, std::uint64_t token);
  beat_page(beat_page&& other) noexcept;
  beat_page& operator=(beat_page&& other) noexcept;
  ~beat_page();

  // The descriptor of a new page, for the process to inherit. Closed by hand over: the page
  // stays.
  int fd() const noexcept { return fd_.get(); }
  void handed_over() noexcept { fd_.reset(); }

  beat_record& record() const noexcept { return *record_; }

 private:
  beat_page(beat_record* record, unique_fd fd) noexcept : record_(record), fd_(std::move(fd)) {}

  beat_record* record_;
  unique_fd fd_;
};

}  // namespace tidegate::runtime
