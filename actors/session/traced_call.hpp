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
  using action = worker_command::action;
  auto table = command.table;
  if (command.kind == action::exchange)
    table = command.tables.size() == 1 ? command.tables.front() : runtime::whole_job;
  const auto call = traced_call_of(command.kind);
  if (call == runtime::traced_call::clock || call == runtime::traced_call::other)
    table = runtime::whole_job;
  return {.begin_ns = begin_ns,
          .job = job,
          .clock = clock,
          .table = table,
          .count = 0,
          .detail = static_cast<std::uint8_t>(call)};
}

}  // namespace tidegate::actors
