#include "launch/trace/shard_arrivals.hpp"

#include <algorithm>

#include "launch/trace/span_names.hpp"

namespace tidegate::launch {

using runtime::span_kind;

namespace {

// Spans come in the order of their begin; those less than `gap_ns` apart become one stretch.
void add(std::int64_t begin_ns, std::int64_t end_ns, std::int64_t gap_ns, stretches& to) {
  if (to.empty() || begin_ns > to.back().second + gap_ns) to.emplace_back(begin_ns, end_ns);
  to.back().second = std::max(to.back().second, end_ns);
}

std::uint64_t overlap(const stretches& all, std::int64_t begin_ns, std::int64_t end_ns) {
  std::uint64_t sum = 0;
  auto at =
      std::ranges::upper_bound(all, begin_ns, {}, [](const auto& of) { return of.second; });
  for (; at != all.end() && at->first < end_ns; ++at)
    sum += static_cast<std::uint64_t>(std::min(end_ns, at->second) -
                                      std::max(begin_ns, at->first));
  return sum;
}

}  // namespace

shard_arrivals::shard_arrivals(const traced_process& process)
    : number_(number_of(process.writer)) {
  constexpr std::uint64_t word_bytes = 4;
  // Between two frames a process looks at its network.
  constexpr std::int64_t moment_ns = 5'000;
  for (const auto& span : process.spans) {
    if (span.kind == span_kind::frame || span.kind == span_kind::step)
      add(span.begin_ns, span.end_ns, moment_ns, busy_);
    if (span.kind == span_kind::replica) add(span.begin_ns, span.end_ns, 0, replica_);
    const job_clock clock(span.job, span.clock);
    if (brings_gradient(span)) {
      auto& of = all_[clock][span.peer];
      of = {.first_ns = of.first_ns == 0 ? span.begin_ns : of.first_ns,
            .begin_ns = span.begin_ns,
            .end_ns = span.end_ns,
            .busy_since_ns = busy_.back().first,
            .bytes = of.bytes + span.words * word_bytes};
    }
    if (span.kind == span_kind::step) {
      auto& ended = stepped_[clock];
      ended = std::max(ended, span.end_ns);
      number_ = span.peer;
    }
  }
}

const shard_arrivals::by_rank* shard_arrivals::of(const job_clock& clock) const {
  const auto at = all_.find(clock);
  return at == all_.end() ? nullptr : &at->second;
}

const shard_arrivals::arrival* shard_arrivals::of(const job_clock& clock,
                                                  std::uint32_t rank) const {
  const auto* come = of(clock);
  if (come == nullptr) return nullptr;
  const auto at = come->find(rank);
  return at == come->end() ? nullptr : &at->second;
}

void shard_arrivals::forget(const std::set<std::uint64_t>& jobs) {
  std::erase_if(all_, [&](const auto& of) { return jobs.contains(of.first.first); });
}

std::int64_t shard_arrivals::stepped_ns(const job_clock& clock) const {
  const auto at = stepped_.find(clock);
  return at == stepped_.end() ? 0 : at->second;
}

std::uint64_t shard_arrivals::replica_ns(std::int64_t begin_ns, std::int64_t end_ns) const {
  return overlap(replica_, begin_ns, end_ns);
}

std::uint64_t shard_arrivals::busy_ns(std::int64_t begin_ns, std::int64_t end_ns) const {
  return overlap(busy_, begin_ns, end_ns);
}

}  // namespace tidegate::launch
