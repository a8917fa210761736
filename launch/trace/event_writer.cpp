#include "launch/trace/event_writer.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <nlohmann/json.hpp>

namespace tidegate::launch {

using runtime::span_kind;
using runtime::trace_span;

int row_of(span_kind kind) {
  if (kind == span_kind::answer) return answers_row;
  if (kind == span_kind::replica) return replica_row;
  return kind == span_kind::frame || kind == span_kind::step ? frames_row : program_row;
}

event_writer::event_writer(std::int64_t begin_ns) : begin_ns_(begin_ns) {
  text_ = R"({"displayTimeUnit":"ms","otherData":{"begin_unix_ns":)";
  append(begin_ns);
  text_ += "},\"traceEvents\":[\n";
}

void event_writer::name(std::size_t process, std::string_view title) {
  begin_event("M", process, program_row);
  text_ += R"(,"name":"process_name","args":{"name":)";
  text_ += nlohmann::json(title).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  text_ += "}}";
  begin_event("M", process, program_row);
  text_ += R"(,"name":"process_sort_index","args":{"sort_index":)";
  append(static_cast<std::int64_t>(process));
  text_ += "}}";
}

void event_writer::name(std::size_t process, int row, std::string_view title) {
  begin_event("M", process, row);
  text_ += R"(,"name":"thread_name","args":{"name":")";
  text_ += title;
  text_ += "\"}}";
}

void event_writer::slice(std::size_t process, const trace_span& span, std::string_view title,
                         std::string_view peer) {
  begin_event("X", process, row_of(span.kind));
  text_ += ",\"name\":\"";
  text_ += title;
  text_ += "\",\"ts\":";
  microseconds(span.begin_ns - begin_ns_);
  text_ += ",\"dur\":";
  microseconds(std::max<std::int64_t>(0, span.end_ns - span.begin_ns));
  text_ += ",\"args\":{";
  if (span.kind == span_kind::replica) {  // of no clock in particular
    text_ += "}}";
    return;
  }
  text_ += "\"clock\":";
  text_ += std::to_string(span.clock);
  if (!peer.empty()) {
    text_ += ",\"";
    text_ += peer;
    text_ += "\":";
    append(span.peer);
  }
  if (span.kind != span_kind::wait && span.table != runtime::whole_job) {
    text_ += ",\"table\":";
    append(span.table);
    if (span.count > 0 && span.chunk != runtime::whole_job) {
      text_ += ",\"chunk\":";
      append(span.chunk);
    }
  }
  text_ += "}}";
}

void event_writer::arrow(const char* phase, std::uint64_t id, std::size_t process,
                         const trace_span& on, std::int64_t at_ns) {
  begin_event(phase, process, row_of(on.kind));
  text_ += R"(,"name":"push","cat":"push","id":)";
  append(static_cast<std::int64_t>(id));
  text_ += ",\"ts\":";
  microseconds(at_ns - begin_ns_);
  if (*phase == 'f') text_ += ",\"bp\":\"e\"";
  text_ += '}';
}

std::string event_writer::take() {
  text_ += "\n]}\n";
  return std::move(text_);
}

void event_writer::begin_event(const char* phase, std::size_t process, int row) {
  text_ += std::exchange(is_first_, false) ? "" : ",\n";
  text_ += "{\"ph\":\"";
  text_ += phase;
  text_ += "\",\"pid\":";
  append(static_cast<std::int64_t>(process) + 1);
  text_ += ",\"tid\":";
  append(row);
}

void event_writer::append(std::int64_t number) {
  std::array<char, 24> digits{};
  text_.append(digits.data(),
               std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr);
}

void event_writer::microseconds(std::int64_t ns) {
  append(ns / 1000);
  const auto rest = std::to_string(1000 + std::max<std::int64_t>(0, ns % 1000));
  text_ += '.';
  text_.append(rest, 1);
}

}  // namespace tidegate::launch
