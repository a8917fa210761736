#include "launch/trace/clock_records.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

#include "launch/trace/span_names.hpp"
#include "launch/trace/traced_process.hpp"
#include "launch/trace/write_trace.hpp"
#include "policies/model/last_comer.hpp"

namespace tidegate::launch {

namespace {

using runtime::span_kind;
using runtime::trace_span;

using records = std::map<std::pair<std::string, std::uint64_t>, clock_record>;
using job_clock = std::pair<std::uint64_t, std::uint64_t>;  // the job's token

std::uint64_t lasted(const trace_span& span) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, span.end_ns - span.begin_ns));
}

// The shard whose answer came last in each clock.
void add_answers(const traced_process& worker, std::map<std::uint64_t, worker_clock>& to) {
  std::map<std::uint64_t, std::map<std::uint32_t, std::int64_t>> came;  // by clock and shard
  for (const auto& span : worker.spans)
    if (span.kind == span_kind::answer) came[pushed_clock_of(span)][span.peer] = span.end_ns;
  for (const auto& [clock, by_shard] : came) {
    const auto at = to.find(clock);
    if (at == to.end()) continue;
    std::vector<std::int64_t> times;
    for (const auto& [shard, time] : by_shard) times.push_back(time);
    const auto last = policies::last_of(times);
    if (last.count < 2) continue;
    at->second.last_shard = std::next(by_shard.begin(), static_cast<long>(last.index))->first;
    at->second.shard_late_ns = last.late_ns;
  }
}

// What a program's thread did, a clock at a time.
class program_clocks {
 public:
  explicit program_clocks(const traced_process& worker) : worker_(worker) {
    for (const auto& span : worker.spans)
      if (span.kind == span_kind::call || span.kind == span_kind::wait)
        program_.push_back(&span);
    for (std::size_t i = 0; i < program_.size(); ++i) add(i);
    drop_ends();
    add_answers(worker, all_);
  }
  std::map<std::uint64_t, worker_clock> take() { return std::move(all_); }

 private:
  // A push that finds no room waits before it begins, after the program has computed: that wait
  // is of its clock, and not of the call before.
  std::uint64_t clock_of(std::size_t at) const {
    constexpr std::int64_t moment_ns = 5'000;
    const auto& span = *program_[at];
    if (span.kind == span_kind::call || at == 0 || at + 1 == program_.size()) return span.clock;
    const auto& next = *program_[at + 1];
    const bool waits_for_room = pushes(next) && next.begin_ns - span.end_ns < moment_ns &&
                                span.begin_ns - program_[at - 1]->end_ns >= moment_ns;
    return waits_for_room ? next.clock : span.clock;
  }
  void add(std::size_t at) {
    const auto& span = *program_[at];
    auto [entry, is_new] = all_.try_emplace(clock_of(at));
    auto& of = entry->second;
    if (is_new)
      of = {.incarnation = worker_.incarnation,
            .began_ns = at == 0 ? span.begin_ns : program_[at - 1]->end_ns};
    of.ended_ns = span.end_ns;
    (span.kind == span_kind::call ? of.call_ns : of.wait_ns) += lasted(span);
    if (pushes(span) && of.pushed_ns == 0) of.pushed_ns = span.begin_ns;
    ends_with_wait_ = span.kind == span_kind::wait && of.pushed_ns != 0;
  }
  // A ring that is full has lost the begin of its first clock. The last one goes on, or is a
  // pull at the end, unless it has pushed, and waited since.
  void drop_ends() {
    if (!all_.empty() && worker_.spans.size() >= spans_kept) all_.erase(all_.begin());
    if (!all_.empty() && !ends_with_wait_) all_.erase(std::prev(all_.end()));
  }

  const traced_process& worker_;
  std::vector<const trace_span*> program_;
  std::map<std::uint64_t, worker_clock> all_;
  bool ends_with_wait_ = false;
};

// Of each shard or aggregator, when the last push of each rank came, by job and clock.
using arrivals = std::map<job_clock, std::map<std::uint32_t, std::int64_t>>;
arrivals arrivals_of(const traced_process& shard) {
  arrivals all;
  for (const auto& span : shard.spans)
    if (brings_gradient(span)) all[{span.job, span.clock}][span.peer] = span.begin_ns;
  return all;
}

// Jobs with aggregators, by token: what comes to shards is theirs, and not of workers.
std::set<std::uint64_t> summed_jobs(const std::vector<traced_process>& processes) {
  std::set<std::uint64_t> jobs;
  for (const auto& process : processes)
    if (is_of(process.writer, "aggregator"))
      for (const auto& span : process.spans) jobs.insert(span.job);
  return jobs;
}

// A worker is as late as at the shard where it is least: who is late for a shard's sake is not
// late at another.
class late_workers {
 public:
  void add(const arrivals& at_shard) {
    for (const auto& [clock, by_rank] : at_shard) {
      std::vector<std::int64_t> times;
      for (const auto& [rank, time] : by_rank) times.push_back(time);
      const auto last = policies::last_of(times);
      std::size_t index = 0;
      for (const auto& [rank, time] : by_rank) {
        const auto late = index++ == last.index && last.count > 1 ? last.late_ns : 0;
        auto [at, is_new] = least_.try_emplace({clock.first, clock.second, rank}, late);
        at->second = std::min(at->second, late);
      }
    }
  }
  std::uint64_t of(std::uint64_t job, std::uint64_t clock, std::uint32_t rank) const {
    const auto at = least_.find({job, clock, rank});
    return at == least_.end() ? 0 : at->second;
  }

 private:
  std::map<std::tuple<std::uint64_t, std::uint64_t, std::uint32_t>, std::uint64_t> least_;
};

// Waits are noted without their job.
std::uint64_t token_of(const traced_process& worker) {
  const auto first =
      std::ranges::find_if(worker.spans, [](const trace_span& span) { return span.job != 0; });
  return first == worker.spans.end() ? 0 : first->job;
}

}  // namespace

std::uint64_t worker_clock::compute_ns() const {
  const auto whole = static_cast<std::uint64_t>(std::max<std::int64_t>(0, ended_ns - began_ns));
  return whole - std::min(whole, call_ns + wait_ns);
}

std::optional<std::uint32_t> clock_record::last_rank() const {
  const auto latest = std::ranges::max_element(
      workers, {}, [](const auto& worker) { return worker.second.late_ns; });
  if (latest == workers.end() || latest->second.late_ns == 0) return std::nullopt;
  return latest->first;
}

std::optional<std::uint32_t> clock_record::last_shard() const {
  std::map<std::uint32_t, std::size_t> times;
  for (const auto& [rank, worker] : workers)
    if (worker.last_shard) ++times[*worker.last_shard];
  const auto most =
      std::ranges::max_element(times, {}, [](const auto& shard) { return shard.second; });
  if (most == times.end()) return std::nullopt;
  return most->first;
}

std::vector<clock_record> clock_records(const std::vector<process_spans>& of,
                                        const std::optional<clock_range>& clocks) {
  const auto processes = traced_processes(of);
  late_workers late;
  const auto summed = summed_jobs(processes);
  for (const auto& process : processes) {
    if (is_of(process.writer, "worker")) continue;
    auto arrived = arrivals_of(process);
    if (!is_of(process.writer, "aggregator"))
      std::erase_if(arrived, [&](const auto& of) { return summed.contains(of.first.first); });
    late.add(arrived);
  }
  records all;
  for (const auto& process : processes) {
    const auto job = job_of(process.writer);
    if (job.empty()) continue;
    const auto rank = number_of(process.writer);
    for (auto& [clock, worker] : program_clocks(process).take()) {
      if (clocks && (clock < clocks->first || clock > clocks->last)) continue;
      worker.late_ns = late.of(token_of(process), clock, rank);
      auto& into = all[{job, clock}];
      into.job = job;
      into.clock = clock;
      // A later incarnation does a clock again.
      into.workers[rank] = worker;
    }
  }
  std::vector<clock_record> found;
  for (auto& [key, record] : all) found.push_back(std::move(record));
  return found;
}

}  // namespace tidegate::launch
