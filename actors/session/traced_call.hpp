// The commands of a session in a trace. Pure, any thread.
#pragma once

#include <cstdint>

#include "actors/session/worker_command.hpp"
#include "runtime/base/trace_span.hpp"

namespace tidegate::actors {

inline runtime::traced_call traced_call_of(worker_command::action kind) {
  using action = worker_command::action;
  switch (kind) {
    case action::push:
      return runtime::traced_call::push;
    case action::pull:
      return runtime::traced_call::pull;
    case action::exchange:
      return runtime::traced_call::exchange;
    case action::clock:
      return runtime::traced_call::clock;
    case action::call:
      return runtime::traced_call::function;
    case action::pull_rows:
      return runtime::traced_call::rows;
    default:
      return runtime::traced_call::other;
  }
}

// Returns the span of a call that begins.
inline runtime::trace_span span_of(const worker_command& command, std::uint64_t job,
                                   std::uint64_t clock, std::int64_t begin_ns) {
  return {.begin_ns = begin_ns,
          .job = job,
          .clock = clock,
          .table = command.table,
          .count = 0,
          .detail = static_cast<std::uint8_t>(traced_call_of(command.kind))};
}

}  // namespace tidegate::actors
