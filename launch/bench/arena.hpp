// A file that all processes of one measurement map: a barrier, the clock readings of every
// rank, and why the measurement failed. Ours and the peers use the same, so that what is
// compared was measured alike. POSIX and runtime/base only: a peer's program compiles it.
//
// Every rank writes its own records; the one that created the file reads them once all have
// ended. The mapping is released with the object; the file is its maker's.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/base/status.hpp"

namespace tidegate::bench {

inline constexpr std::uint32_t ranks_max = 1024;
inline constexpr std::uint32_t iterations_max = 1U << 20U;
inline constexpr std::uint32_t barrier_timeout_ms_default = 120'000;

struct arena_shape {
  std::uint32_t ranks = 1;
  std::uint32_t iterations = 1;  // warm-up included

  friend bool operator==(const arena_shape&, const arena_shape&) = default;
};

struct span_ns {
  std::int64_t begin = 0;  // CLOCK_MONOTONIC
  std::int64_t end = 0;
};

// How a rank waits at the barrier. `patient` sleeps after a while and leaves the cores to who
// is late; `prompt` never sleeps, so that all leave within microseconds. Wait patiently, then
// promptly.
enum class waiting : std::uint8_t { patient, prompt };

class arena {
 public:
  // Makes the file, which must not exist. Errors: invalid_argument (a shape that is empty or
  // beyond the limits above), io_error.
  static runtime::expected<arena> create(const std::string& path, const arena_shape& shape);
  // Errors: not_found, io_error, corrupt (not an arena, of another version, or cut short).
  static runtime::expected<arena> open(const std::string& path);

  arena(arena&& other) noexcept;
  arena& operator=(arena&& other) noexcept;
  ~arena();

  arena_shape shape() const noexcept;

  // Returns when every rank is there. Errors: cancelled (a rank has failed; its message),
  // timed_out (this rank then fails the measurement).
  runtime::status wait_for_all(waiting options,
                               std::uint32_t timeout_ms = barrier_timeout_ms_default);

  // The first failure counts and frees all who wait; later ones are dropped.
  void fail(const std::string& why);
  // Empty while nobody has failed.
  std::string failure() const;

  // rank < ranks, iteration < iterations.
  void record(std::uint32_t rank, std::uint32_t iteration, const span_ns& when);
  span_ns recorded(std::uint32_t rank, std::uint32_t iteration) const;
  // From the first begin to the last end over all ranks.
  std::int64_t exchange_ns(std::uint32_t iteration) const;

  // What a rank reports of itself at its end.
  struct account {
    double cpu_seconds = 0;          // of this process in the measured spans
    double servers_cpu_seconds = 0;  // of processes that are no rank; by rank 0
    std::uint64_t verified = 0;      // iterations whose every element was compared
    std::uint64_t rows = 0;          // pushed in the measured spans, where rows are
    std::uint64_t bare_rows = 0;     // of the roofline's spans
  };
  void report(std::uint32_t rank, const account& entry);
  account reported(std::uint32_t rank) const;

 private:
  struct header;
  struct rank_record;
  arena() = default;
  header& head() const noexcept;
  rank_record& record_of(std::uint32_t rank) const noexcept;
  span_ns& span_of(std::uint32_t rank, std::uint32_t iteration) const noexcept;
  runtime::status failed() const;

  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

std::int64_t now_ns() noexcept;  // CLOCK_MONOTONIC

}  // namespace tidegate::bench
