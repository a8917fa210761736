// What a process did for a while, for one job: a line of a trace. Plain values.
#pragma once

#include <cstdint>
#include <type_traits>

#include "runtime/base/frame_header.hpp"

namespace tidegate::runtime {

enum class span_kind : std::uint8_t {
  // A program's thread in a call of its session; `detail`: a traced_call.
  call = 1,
  // The same thread, until something that it waits for has come; in the clock of the call
  // before it.
  wait = 2,
  // A worker that has several shards has taken an answer of shard `peer`, in a moment;
  // `detail`:
  // its frame_kind. Where there is one, a wait ends with its answer.
  answer = 3,
  // A shard or aggregator has handled a frame of rank `peer`, or of another process of its
  // chain; `detail`: its frame_kind.
  frame = 4,
  // Shard `peer` has stepped a chunk with what was pushed in `clock`, or an aggregator has
  // handed its sum on.
  // What it does until the next step, or until it is done with the frame, is in it.
  step = 5,
  // Steps of shard `peer`, of whatever jobs, have waited for its replica.
  replica = 6,
};

// Calls of a session, as a trace tells them apart.
enum class traced_call : std::uint8_t {
  other = 0,
  push = 1,
  pull = 2,
  exchange = 3,
  clock = 4,
  function = 5,  // that shards run
  rows = 6,      // pulled
};

struct trace_span {
  // Of record_now() in the process; nanoseconds since 1970 once it is taken to another.
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint64_t job = 0;  // its token
  std::uint64_t clock = 0;
  std::uint32_t peer = 0;
  std::uint32_t table = 0;
  std::uint32_t chunk = 0;
  std::uint32_t count = 1;  // of chunks; 0: several, which are not told
  span_kind kind = span_kind::call;
  std::uint8_t detail = 0;
  // Of a frame, its flags; of a call, how stale what was pulled last was, in clocks.
  std::uint16_t extra = 0;
  std::uint32_t words = 0;  // of 4 bytes, rounded up, that a frame brought

  friend bool operator==(const trace_span&, const trace_span&) = default;
};
static_assert(std::is_trivially_copyable_v<trace_span> && sizeof(trace_span) == 56,
              "it is copied as seven words");
// Of a call before which nothing was pulled.
inline constexpr std::uint16_t unknown_staleness = 0xffff;

// Returns what a frame was about. `peer`: as `kind` has it.
inline trace_span span_of(span_kind kind, const frame_header& header, std::uint32_t peer,
                          std::int64_t begin_ns, std::int64_t end_ns) noexcept {
  // A doorbell and its answers name chunks by their index at a shard.
  const bool is_doorbell = header.kind == frame_kind::doorbell ||
                           header.kind == frame_kind::doorbell_ack ||
                           header.kind == frame_kind::doorbell_reply;
  return {.begin_ns = begin_ns,
          .end_ns = end_ns,
          .job = header.job,
          .clock = header.clock,
          .peer = peer,
          .table = header.table,
          .chunk = is_doorbell ? 0 : header.chunk,
          .count = is_doorbell ? 0U : 1U,
          .kind = kind,
          .detail = static_cast<std::uint8_t>(header.kind),
          .extra = header.flags};
}

// Returns true for a span as a process may have noted it, with times in nanoseconds since 1970,
// some days before `now` at most.
inline bool is_plausible(const trace_span& of, std::int64_t now) noexcept {
  constexpr std::int64_t day = std::int64_t{86'400} * 1'000'000'000;
  const auto is_near = [now](std::int64_t at) {
    return at > 0 && at < now + day && at > now - 30 * day;
  };
  return of.kind >= span_kind::call && of.kind <= span_kind::replica && is_near(of.begin_ns) &&
         is_near(of.end_ns) && of.begin_ns <= of.end_ns;
}

}  // namespace tidegate::runtime
