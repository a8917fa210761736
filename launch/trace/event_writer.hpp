// The text of a trace, as it grows: events of the Trace Event Format. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/trace_span.hpp"

namespace tidegate::launch {

// Rows of a process.
inline constexpr int program_row = 1;
inline constexpr int answers_row = 2;
inline constexpr int frames_row = 3;
inline constexpr int replica_row = 4;
int row_of(runtime::span_kind kind);

class event_writer {
 public:
  // Times are written as microseconds since this one, in nanoseconds since 1970.
  explicit event_writer(std::int64_t begin_ns);

  void name(std::size_t process, std::string_view title);
  void name(std::size_t process, int row, std::string_view title);
  // `peer`: what the span's peer is; empty: nothing.
  void slice(std::size_t process, const runtime::trace_span& span, std::string_view title,
             std::string_view peer);
  // A point of an arrow, on a slice at this time: "s" its begin, "t" on its way, "f" its end.
  void arrow(const char* phase, std::uint64_t id, std::size_t process,
             const runtime::trace_span& on, std::int64_t at_ns);
  // Ends it.
  std::string take();

 private:
  void begin_event(const char* phase, std::size_t process, int row);
  void append(std::int64_t number);
  void microseconds(std::int64_t ns);

  std::int64_t begin_ns_;
  std::string text_;
  bool is_first_ = true;
};

}  // namespace tidegate::launch
