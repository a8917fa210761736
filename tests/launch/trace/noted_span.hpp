// Spans as processes of one job note them. Any thread.
#pragma once

#include <cstdint>

#include "runtime/base/trace_span.hpp"

namespace tidegate::launch {

inline constexpr std::uint64_t job = 77;
inline constexpr std::int64_t ms = 1'000'000;
inline constexpr std::int64_t start = 1'700'000'000'000'000'000;

template <class Detail>
runtime::trace_span span(std::int64_t begin, std::int64_t end, runtime::span_kind kind,
                         Detail detail, std::uint64_t clock, std::uint32_t peer = 0) {
  return {.begin_ns = start + begin,
          .end_ns = start + end,
          .job = job,
          .clock = clock,
          .peer = peer,
          .kind = kind,
          .detail = static_cast<std::uint8_t>(detail)};
}

}  // namespace tidegate::launch
