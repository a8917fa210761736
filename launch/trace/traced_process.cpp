#include "launch/trace/traced_process.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "launch/trace/span_names.hpp"

namespace tidegate::launch {

using runtime::span_kind;
using runtime::trace_span;

namespace {

bool begins_before(const std::vector<trace_span>& some, const std::vector<trace_span>& others) {
  const auto first = [](const std::vector<trace_span>& of) {
    return std::ranges::min(of, {}, &trace_span::begin_ns).begin_ns;
  };
  return !some.empty() && first(some) < first(others);
}

// Waits have the clock of the call before them.
void add_clocks_of_waits(std::vector<trace_span>& spans) {
  const auto first = std::ranges::find(spans, span_kind::call, &trace_span::kind);
  auto clock = first == spans.end() ? 0 : first->clock;
  for (auto& span : spans) {
    if (span.kind == span_kind::call) clock = span.clock;
    if (span.kind == span_kind::wait) span.clock = clock;
  }
}

}  // namespace

std::vector<traced_process> traced_processes(const std::vector<process_spans>& all) {
  std::map<std::pair<std::string, std::uint32_t>, traced_process> by_name;
  for (const auto& of : all) {
    auto& into = by_name[{of.writer, of.incarnation}];
    into.writer = of.writer;
    into.incarnation = of.incarnation;
    into.title = of.writer + (of.incarnation > 1 ? "/" + std::to_string(of.incarnation) : "") +
                 (of.host.empty() ? "" : " on " + of.host);
    // A piece that reaches further back says what is before all of them.
    if (into.spans.empty() || begins_before(of.spans, into.spans)) into.is_cut = of.is_cut;
    into.spans.insert(into.spans.end(), of.spans.begin(), of.spans.end());
  }
  std::vector<traced_process> processes;
  for (auto& [key, process] : by_name) {
    std::ranges::stable_sort(process.spans, {}, &trace_span::begin_ns);
    if (is_of(process.writer, "worker")) add_clocks_of_waits(process.spans);
    processes.push_back(std::move(process));
  }
  return processes;
}

std::string job_of(const std::string& writer) {
  if (!is_of(writer, "worker")) return {};
  const auto from = std::string_view("worker-").size();
  return writer.substr(from, writer.rfind('-') - from);
}

}  // namespace tidegate::launch
