#include "launch/trace/span_names.hpp"

#include <algorithm>
#include <charconv>

namespace tidegate::launch {

using runtime::frame_kind;
using runtime::span_kind;
using runtime::trace_span;
using runtime::traced_call;

namespace {

std::string_view name_of(traced_call call) {
  switch (call) {
    case traced_call::push:
      return "push";
    case traced_call::pull:
      return "pull";
    case traced_call::exchange:
      return "exchange";
    case traced_call::clock:
      return "clock";
    case traced_call::function:
      return "call";
    case traced_call::rows:
      return "rows";
    case traced_call::other:
      break;
  }
  return "session";
}

std::string_view name_of(frame_kind kind) {
  switch (kind) {
    case frame_kind::push:
      return "push";
    case frame_kind::push_ack:
      return "push_ack";
    case frame_kind::skip:
      return "skip";
    case frame_kind::pull:
      return "pull";
    case frame_kind::pull_reply:
      return "pull_reply";
    case frame_kind::doorbell:
      return "doorbell";
    case frame_kind::doorbell_ack:
      return "doorbell_ack";
    case frame_kind::doorbell_reply:
      return "doorbell_reply";
    case frame_kind::call:
      return "call";
    case frame_kind::call_reply:
      return "call_reply";
    case frame_kind::finished:
      return "finished";
    case frame_kind::step:
      return "replicate";
    case frame_kind::steps:
      return "replicate_run";
    case frame_kind::seed:
      return "seed";
    case frame_kind::farewell:
      return "farewell";
    case frame_kind::followed:
      return "followed";
    default:
      return "frame";
  }
}

bool is_acknowledgement(const trace_span& of) {
  const auto kind = static_cast<frame_kind>(of.detail);
  return kind == frame_kind::push_ack || kind == frame_kind::doorbell_ack;
}

}  // namespace

bool pushes(const trace_span& of) {
  const auto call = static_cast<traced_call>(of.detail);
  return of.kind == span_kind::call &&
         (call == traced_call::push || call == traced_call::exchange);
}

bool brings_gradient(const trace_span& of) {
  const auto kind = static_cast<frame_kind>(of.detail);
  return of.kind == span_kind::frame &&
         (kind == frame_kind::push ||
          (kind == frame_kind::doorbell && (of.extra & runtime::frame_flag_push) != 0));
}

bool is_of_chain(const trace_span& of) {
  if (of.kind != span_kind::frame) return false;
  switch (static_cast<frame_kind>(of.detail)) {
    case frame_kind::step:
    case frame_kind::steps:
    case frame_kind::seed:
    case frame_kind::farewell:
    case frame_kind::followed:
    case frame_kind::lend:
    case frame_kind::lent:
      return true;
    case frame_kind::resend:
    case frame_kind::resent:
      return of.job == 0;
    default:
      return false;
  }
}

std::uint64_t pushed_clock_of(const trace_span& of) {
  if (of.kind != span_kind::answer || is_acknowledgement(of)) return of.clock;
  return of.clock - std::min<std::uint64_t>(of.clock, 1);
}

std::string_view slice_name(const trace_span& of) {
  switch (of.kind) {
    case span_kind::call:
      return name_of(static_cast<traced_call>(of.detail));
    case span_kind::wait:
      return "waits";
    case span_kind::step:
      return "step";
    case span_kind::replica:
      return "waits for replica";
    case span_kind::answer:
    case span_kind::frame:
      break;
  }
  return name_of(static_cast<frame_kind>(of.detail));
}

bool has_table(const trace_span& of, std::uint32_t table) {
  return of.table == table || of.table == runtime::whole_job;
}
bool has_chunk(const trace_span& of, std::uint32_t chunk) {
  return of.count == 0 || (chunk >= of.chunk && chunk - of.chunk < of.count);
}

std::uint32_t number_of(std::string_view writer) {
  const auto from = writer.rfind('-') + 1;
  std::uint32_t number = 0;
  std::from_chars(writer.data() + from, writer.data() + writer.size(), number);
  return number;
}
bool is_of(std::string_view writer, std::string_view role) {
  return writer.starts_with(role) && writer.size() > role.size() && writer[role.size()] == '-';
}

}  // namespace tidegate::launch
