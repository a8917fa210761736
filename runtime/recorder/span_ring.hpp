// Memory in which a process notes its last spans, for whoever has started it to read at any
// time, also after a SIGKILL: an anonymous file (memfd) of fixed size, as that of heartbeats.
// The oldest span goes where a new one comes. Movable.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/base/status.hpp"
#include "runtime/base/trace_span.hpp"
#include "runtime/base/unique_fd.hpp"

namespace tidegate::runtime {

class span_ring {
 public:
  static constexpr std::size_t slots = std::size_t{1} << 14U;  // 1 MiB of memory

  // Errors: io_error (no more descriptors, or memory).
  static expected<span_ring> make(std::uint64_t token);
  // The ring behind a descriptor that the launcher has left open. Errors: not_found (no such
  // descriptor, or something else).
  static expected<span_ring> open(int fd, std::uint64_t token);
  span_ring(span_ring&& other) noexcept;
  span_ring& operator=(span_ring&& other) noexcept;
  ~span_ring();

  // The descriptor of a new ring, for the process to inherit. Closed by handed_over(): the
  // memory stays.
  int fd() const noexcept { return fd_.get(); }
  void handed_over() noexcept { fd_.reset(); }

  // Any thread of the process that notes. Allocates nothing, waits for nobody.
  void add(const trace_span& span) noexcept;
  // Notes what record_now() and steady_now() show at this moment: spans have times of the one,
  // a host has the other. Before the first span, and then now and then: they part slowly.
  void note_clocks() noexcept;

  // Returns what is there, the oldest first, with times in nanoseconds since 1970 as the
  // calling process counts them. What is being written meanwhile is left out. Any process of
  // this host.
  std::vector<trace_span> read() const;
  // Returns true if more has been noted than it holds, so that the oldest is lost. Any process
  // of this host.
  bool is_over() const noexcept;

 private:
  struct slot {
    std::atomic<std::uint64_t> number;  // of the span, from 1; 0: it is being written
    std::array<std::atomic<std::uint64_t>, 7> words;
  };
  // The time of one moment on both clocks.
  struct moment {
    std::int64_t record_ns = 0;
    std::int64_t steady_ns = 0;
  };
  struct shared_moment {
    std::atomic<std::uint64_t> number;  // of times that it was written; odd: it is being
    std::atomic<std::int64_t> record_ns;
    std::atomic<std::int64_t> steady_ns;
  };
  struct page {
    std::uint64_t token;  // of the run: by it the process knows the memory
    std::atomic<std::uint64_t> next;
    std::array<shared_moment, 2> moments;  // the first and the last
    std::array<slot, slots> all;
  };
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "processes share it");

  span_ring(page* at, unique_fd fd) noexcept : page_(at), fd_(std::move(fd)) {}
  static double pace_between(const moment& first, const moment& last);
  static void write(shared_moment& at, const moment& now) noexcept;
  static std::optional<moment> read(const shared_moment& at) noexcept;

  page* page_;
  unique_fd fd_;
};

}  // namespace tidegate::runtime
