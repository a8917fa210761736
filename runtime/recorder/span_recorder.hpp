// The flight recorder of a process: notes what it does in the ring that its launcher has
// shared (span_ring.hpp), if there is one. Always on.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "runtime/base/trace_span.hpp"
#include "runtime/recorder/span_ring.hpp"

namespace tidegate::runtime {

// The descriptor of the ring. Set by the launcher.
inline constexpr const char* spans_variable = "TIDEGATE_SPANS_FD";

class span_recorder {
 public:
  explicit span_recorder(span_ring ring) : ring_(std::move(ring)) { ring_.note_clocks(); }

  // Takes the descriptor that the launcher has left open, and closes it: that of this process
  // from now on. Where it is missing, as behind a prefix that closes descriptors, nothing is
  // noted. Called again it changes nothing. Any thread.
  static void begin(std::uint64_t token);
  // Returns that of this process, or null. Lives as long as the process. Any thread.
  static span_recorder* of_process() noexcept;

  // Any thread. Costs some ten nanoseconds; allocates nothing, waits for nobody.
  void add(const trace_span& span) noexcept {
    ring_.add(span);
    auto noted = clocks_noted_.load(std::memory_order_relaxed);
    if (span.end_ns > noted + clocks_every_ns &&
        clocks_noted_.compare_exchange_strong(noted, span.end_ns, std::memory_order_acquire))
      ring_.note_clocks();
  }

 private:
  static constexpr std::int64_t clocks_every_ns = 100'000'000;

  span_ring ring_;
  std::atomic<std::int64_t> clocks_noted_{0};
};

}  // namespace tidegate::runtime
