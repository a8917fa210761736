#include "launch/trace/push_arrows.hpp"

#include <algorithm>

namespace tidegate::launch {

using runtime::span_kind;
using runtime::trace_span;

push_arrows::push_arrows(const std::vector<traced_process>& processes) : processes_(processes) {
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const bool sums = is_of(processes[i].writer, "aggregator");
    const auto rank = number_of(processes[i].writer);
    const bool has_answers = std::ranges::find(processes[i].spans, span_kind::answer,
                                               &trace_span::kind) != processes[i].spans.end();
    for (const auto& span : processes[i].spans) {
      const place here{.process = i, .span = &span};
      if (pushes(span)) pushes_[{span.job, rank, span.clock}].push_back(here);
      if (span.kind == span_kind::wait && !has_answers) waits_[i].push_back(here);
      if (span.kind == span_kind::answer)
        answers_[{span.job, rank, pushed_clock_of(span)}].push_back(here);
      if (span.kind == span_kind::step) {
        steps_[{i, span.job, span.clock}].push_back(here);
        shards_[i] = span.peer;
      }
      if (sums && brings_gradient(span)) aggregators_[{span.job, span.peer}] = i;
      if (sums) aggregated_.insert(span.job);
    }
  }
}

void push_arrows::write(event_writer& into) {
  for (std::size_t i = 0; i < processes_.size(); ++i)
    for (const auto& span : processes_[i].spans)
      if (brings_gradient(span)) write(i, span, into);
}

bool push_arrows::is_relayed(std::size_t at, const trace_span& frame) const {
  return aggregated_.contains(frame.job) && !is_of(processes_[at].writer, "aggregator");
}

push_arrows::place push_arrows::last_before(const places* all, const trace_span& frame) {
  place found;
  if (all == nullptr) return found;
  for (const auto& each : *all)
    if ((has_table(frame, each.span->table) || has_table(*each.span, frame.table)) &&
        each.span->begin_ns <= frame.begin_ns)
      found = each;
  return found;
}

// The call of a worker, or the step of its aggregator.
push_arrows::place push_arrows::begin_of(std::size_t at, const trace_span& frame) const {
  if (!is_relayed(at, frame))
    return last_before(find(pushes_, {frame.job, frame.peer, frame.clock}), frame);
  const auto aggregator = aggregators_.find({frame.job, frame.peer});
  if (aggregator == aggregators_.end()) return {};
  return last_before(find(steps_, {aggregator->second, frame.job, frame.clock}), frame);
}

push_arrows::place push_arrows::step_of(std::size_t at, const trace_span& frame) const {
  const auto* all = find(steps_, {at, frame.job, frame.clock});
  if (all == nullptr) return {};
  for (const auto& each : *all)
    if (has_table(frame, each.span->table) && has_chunk(frame, each.span->chunk) &&
        each.span->begin_ns >= frame.begin_ns)
      return each;
  return {};
}

push_arrows::place push_arrows::answer_of(std::size_t at, const trace_span& frame) const {
  const auto* all = find(answers_, {frame.job, frame.peer, frame.clock});
  if (all == nullptr) return {};
  // What a process steps says which shard it is; a replica may have become one.
  const auto& writer = processes_[at].writer;
  const auto stepped = shards_.find(at);
  const auto shard = stepped != shards_.end() ? stepped->second
                     : is_of(writer, "shard") ? number_of(writer)
                                              : 0;
  for (const auto& each : *all)
    if (each.span->peer == shard && has_table(frame, each.span->table) &&
        (has_chunk(frame, each.span->chunk) || has_chunk(*each.span, frame.chunk)) &&
        each.span->begin_ns >= frame.begin_ns)
      return each;
  return {};
}

push_arrows::place push_arrows::wait_of(std::size_t worker, std::int64_t from_ns) const {
  const auto* all = find(waits_, worker);
  if (all == nullptr) return {};
  const auto at = std::ranges::lower_bound(*all, from_ns, {},
                                           [](const place& each) { return each.span->end_ns; });
  return at == all->end() ? place() : *at;
}

void push_arrows::write(std::size_t at, const trace_span& frame, event_writer& into) {
  const auto from = begin_of(at, frame);
  if (from.span == nullptr) return;
  const auto id = ++last_;
  const auto step = step_of(at, frame);
  const auto& taken = step.span == nullptr ? frame : *step.span;
  place answer;
  if (!is_relayed(at, frame)) answer = answer_of(at, frame);
  auto answered_ns = answer.span == nullptr ? 0 : answer.span->begin_ns;
  if (answer.span == nullptr && !is_relayed(at, frame)) {
    answer = wait_of(from.process, taken.begin_ns);
    // Within its slice.
    if (answer.span != nullptr)
      answered_ns = std::max(answer.span->begin_ns, answer.span->end_ns - 1);
  }
  into.arrow("s", id, from.process, *from.span, from.span->begin_ns);
  const bool has_answer = answer.span != nullptr;
  into.arrow(step.span == nullptr && !has_answer ? "f" : "t", id, at, frame, frame.begin_ns);
  if (step.span != nullptr)
    into.arrow(has_answer ? "t" : "f", id, at, *step.span, step.span->begin_ns);
  if (has_answer) into.arrow("f", id, answer.process, *answer.span, answered_ns);
}

}  // namespace tidegate::launch
