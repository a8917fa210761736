#include "launch/trace/process_spans.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include <nlohmann/json.hpp>

#include "launch/text/json_fields.hpp"

namespace tidegate::launch {

namespace {

using json = nlohmann::ordered_json;
using runtime::errc;
using runtime::span_kind;
using runtime::trace_span;

constexpr std::size_t numbers = 12;

// Numbers of a span, in the order of the file.
std::array<std::int64_t, numbers> numbers_of(const trace_span& of) {
  return {static_cast<std::int64_t>(of.kind),
          of.detail,
          of.begin_ns,
          of.end_ns,
          static_cast<std::int64_t>(of.job),
          static_cast<std::int64_t>(of.clock),
          of.peer,
          of.table,
          of.chunk,
          of.count,
          of.extra,
          of.words};
}

trace_span span_of(const std::array<std::int64_t, numbers>& from) {
  return {.begin_ns = from[2],
          .end_ns = from[3],
          .job = static_cast<std::uint64_t>(from[4]),
          .clock = static_cast<std::uint64_t>(from[5]),
          .peer = static_cast<std::uint32_t>(from[6]),
          .table = static_cast<std::uint32_t>(from[7]),
          .chunk = static_cast<std::uint32_t>(from[8]),
          .count = static_cast<std::uint32_t>(from[9]),
          .kind = static_cast<span_kind>(from[0]),
          .detail = static_cast<std::uint8_t>(from[1]),
          .extra = static_cast<std::uint16_t>(from[10]),
          .words = static_cast<std::uint32_t>(from[11])};
}

// What cannot be is left out.
bool add_spans(const json& from, std::int64_t unix_ns, std::vector<trace_span>& into) {
  if (!from.is_array()) return false;
  for (const auto& each : from) {
    if (!each.is_array() || each.size() != numbers) return false;
    std::array<std::int64_t, numbers> all{};
    for (std::size_t i = 0; i < numbers; ++i) {
      if (!each[i].is_number_integer()) return false;
      all[i] = each[i].get<std::int64_t>();
    }
    if (const auto span = span_of(all); runtime::is_plausible(span, unix_ns))
      into.push_back(span);
  }
  return true;
}

}  // namespace

std::string spans_header(std::string_view cause, std::int64_t unix_ns,
                         const job_staleness& staleness) {
  const json line{{"tidegate_spans", spans_version},
                  {"cause", cause},
                  {"unix_ns", unix_ns},
                  {"staleness", staleness}};
  return line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

// Many numbers: written without a JSON value of each.
std::string spans_line(const process_spans& of) {
  json head{{"writer", of.writer},
            {"incarnation", of.incarnation},
            {"host", of.host},
            {"cut", of.is_cut}};
  auto line = head.dump(-1, ' ', false, json::error_handler_t::replace);
  line.back() = ',';
  line += "\"spans\":[";
  std::array<char, 24> digits{};
  for (const auto& span : of.spans) {
    line += '[';
    for (const auto number : numbers_of(span)) {
      const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
      line.append(digits.data(), end);
      line += ',';
    }
    line.back() = ']';
    line += ',';
  }
  if (line.back() == ',') line.pop_back();
  return line + "]}\n";
}

runtime::expected<spans_file> read_spans(std::istream& from) {
  spans_file file;
  std::size_t number = 0;
  const auto bad = [&](const std::string& why) {
    return runtime::fail(errc::invalid_argument, "line " + std::to_string(number) + ": " + why);
  };
  for (std::string text; std::getline(from, text);) {
    ++number;
    const auto line = json::parse(text, nullptr, false);
    if (number == 1) {
      const auto version = count_in(line, "tidegate_spans");
      if (version == 0) return bad("this is no file of spans");
      if (version != spans_version)
        return bad("it is of version " + std::to_string(version) + "; this Tidegate reads " +
                   std::to_string(spans_version));
      file.cause = text_in(line, "cause");
      constexpr std::uint64_t latest = std::uint64_t{1} << 62U;  // in the year 2116
      file.unix_ns = static_cast<std::int64_t>(std::min(latest, count_in(line, "unix_ns")));
      if (const auto of = line.find("staleness"); of != line.end() && of->is_object())
        for (const auto& [job, clocks] : of->items())
          if (clocks.is_number_unsigned()) file.staleness[job] = clocks.get<std::uint64_t>();
      continue;
    }
    process_spans of{.writer = text_in(line, "writer", ""),
                     .incarnation = static_cast<std::uint32_t>(count_in(line, "incarnation")),
                     .host = text_in(line, "host", ""),
                     .is_cut = flag_in(line, "cut")};
    if (of.writer.empty() || !add_spans(list_in(line, "spans"), file.unix_ns, of.spans))
      return bad("it holds no spans of a process");
    file.processes.push_back(std::move(of));
  }
  if (number == 0) return runtime::fail(errc::invalid_argument, "the file is empty");
  return file;
}

}  // namespace tidegate::launch
