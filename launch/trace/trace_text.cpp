#include "launch/trace/trace_text.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <string_view>

#include "launch/trace/event_writer.hpp"
#include "launch/trace/push_arrows.hpp"
#include "launch/trace/span_names.hpp"
#include "launch/trace/traced_process.hpp"

namespace tidegate::launch {

namespace {

using runtime::span_kind;
using runtime::trace_span;

// Shorter pauses between calls of a program are not worth a bar.
constexpr std::int64_t computing_least_ns = 5'000;

void keep_only(const clock_range& clocks, std::vector<traced_process>& processes) {
  for (auto& process : processes) {
    const auto is_wanted = [&](const trace_span& span) {
      const auto clock = pushed_clock_of(span);
      return span.kind != span_kind::replica && clock >= clocks.first && clock <= clocks.last;
    };
    // A wait for a replica is of no clock in particular.
    auto begin = std::numeric_limits<std::int64_t>::max();
    auto end = std::numeric_limits<std::int64_t>::min();
    for (const auto& span : process.spans)
      if (is_wanted(span)) {
        begin = std::min(begin, span.begin_ns);
        end = std::max(end, span.end_ns);
      }
    std::erase_if(process.spans, [&](const trace_span& span) {
      const bool overlaps =
          span.kind == span_kind::replica && span.begin_ns < end && span.end_ns > begin;
      return !overlaps && !is_wanted(span);
    });
  }
}

// What a program does between its calls.
void write_computing(std::size_t process, const std::vector<trace_span>& spans,
                     event_writer& into) {
  std::int64_t ended = 0;
  for (const auto& span : spans) {
    if (span.kind != span_kind::call && span.kind != span_kind::wait) continue;
    if (ended != 0 && span.begin_ns - ended >= computing_least_ns)
      into.slice(process,
                 {.begin_ns = ended,
                  .end_ns = span.begin_ns,
                  .clock = span.clock,
                  .kind = span_kind::wait},
                 "computes", {});
    ended = std::max(ended, span.end_ns);
  }
}

std::string_view peer_of(const trace_span& of) {
  if (of.kind == span_kind::answer) return "shard";
  return of.kind == span_kind::frame && !is_of_chain(of) ? "rank" : "";
}

void write_process(std::size_t number, const traced_process& process, event_writer& into) {
  into.name(number, process.title);
  std::set<int> rows;
  for (const auto& span : process.spans) rows.insert(row_of(span.kind));
  for (const auto row : rows)
    into.name(number, row,
              row == program_row   ? "program"
              : row == answers_row ? "answers"
              : row == replica_row ? "replica"
                                   : "frames");
  for (const auto& span : process.spans)
    into.slice(number, span, slice_name(span), peer_of(span));
  write_computing(number, process.spans, into);
}

void count(const traced_process& process, trace_summary& into) {
  into.spans += process.spans.size();
  into.processes += process.spans.empty() ? 0 : 1;
  if (!is_of(process.writer, "worker")) return;
  const auto job = job_of(process.writer);
  for (const auto& span : process.spans) {
    if (span.kind != span_kind::call) continue;
    const auto [at, is_new] = into.clocks.try_emplace(job, clock_range{span.clock, span.clock});
    at->second.first = std::min(at->second.first, span.clock);
    at->second.last = std::max(at->second.last, span.clock);
  }
}

}  // namespace

std::pair<std::string, trace_summary> trace_text(const std::vector<process_spans>& of,
                                                 const std::optional<clock_range>& clocks) {
  auto processes = traced_processes(of);
  trace_summary summary;
  if (clocks) keep_only(*clocks, processes);
  auto begin_ns = std::numeric_limits<std::int64_t>::max();
  for (const auto& process : processes) {
    count(process, summary);
    if (!process.spans.empty()) begin_ns = std::min(begin_ns, process.spans.front().begin_ns);
  }
  event_writer into(summary.spans == 0 ? 0 : begin_ns);
  for (std::size_t i = 0; i < processes.size(); ++i)
    if (!processes[i].spans.empty()) write_process(i, processes[i], into);
  push_arrows(processes).write(into);
  return {into.take(), summary};
}

}  // namespace tidegate::launch
