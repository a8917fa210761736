#include "launch/trace/clock_records.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include "launch/trace/shard_arrivals.hpp"
#include "launch/trace/span_names.hpp"
#include "launch/trace/traced_process.hpp"
#include "policies/model/last_comer.hpp"

namespace tidegate::launch {

namespace {

using runtime::span_kind;
using runtime::trace_span;

using records = std::map<std::pair<std::string, std::uint64_t>, clock_record>;

std::uint64_t lasted(const trace_span& span) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, span.end_ns - span.begin_ns));
}

// The shard whose answer came last in each clock.
void add_answers(const traced_process& worker, std::map<std::uint64_t, worker_clock>& to) {
  std::map<std::uint64_t, std::map<std::uint32_t, std::int64_t>> came;  // by clock and shard
  for (const auto& span : worker.spans) {
    if (span.kind != span_kind::answer) continue;
    const auto at = to.find(pushed_clock_of(span));
    if (at == to.end()) continue;
    // Nobody has waited for what is taken later.
    auto& time = came[at->first][span.peer];
    if (time == 0 || span.end_ns <= at->second.ended_ns)
      time = std::min(span.end_ns, at->second.ended_ns);
  }
  for (const auto& [clock, by_shard] : came) {
    const auto at = to.find(clock);
    std::vector<std::int64_t> times;
    for (const auto& [shard, time] : by_shard) times.push_back(time);
    const auto last = policies::last_of(times);
    if (last.count < 2) continue;
    at->second.last_shard = std::next(by_shard.begin(), static_cast<long>(last.index))->first;
    at->second.shard_late_ns = last.late_ns;
  }
}

constexpr auto no_clock = std::numeric_limits<std::uint64_t>::max();

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
  std::vector<noted_wait> waits(std::uint64_t clock) const {
    const auto at = waits_.find(clock);
    return at == waits_.end() ? std::vector<noted_wait>() : at->second;
  }

 private:
  // A push that finds no room waits before it begins, after the program has computed: that wait
  // is of its clock, and not of the call before.
  bool waits_for_room(std::size_t at) const {
    constexpr std::int64_t moment_ns = 5'000;
    const auto& span = *program_[at];
    if (span.kind == span_kind::call || at == 0 || at + 1 == program_.size()) return false;
    const auto& next = *program_[at + 1];
    return pushes(next) && next.begin_ns - span.end_ns < moment_ns &&
           span.begin_ns - program_[at - 1]->end_ns >= moment_ns;
  }
  void add(std::size_t at) {
    const auto& span = *program_[at];
    const bool for_room = waits_for_room(at);
    const auto clock = for_room ? program_[at + 1]->clock : span.clock;
    auto [entry, is_new] = all_.try_emplace(clock);
    auto& of = entry->second;
    if (is_new)
      of = {.incarnation = worker_.incarnation,
            .began_ns = at == 0 ? span.begin_ns : program_[at - 1]->end_ns};
    of.ended_ns = span.end_ns;
    (span.kind == span_kind::call ? of.call_ns : of.wait_ns) += lasted(span);
    if (pushes(span) && of.pushed_ns == 0) {
      of.pushed_ns = span.begin_ns;
      if (span.extra != runtime::unknown_staleness) of.staleness = span.extra;
    }
    // Before its push a worker waits for what was pushed in the clock before; before the first
    // for nothing that is known.
    if (span.kind == span_kind::wait) {
      const auto before = clock == 0 ? no_clock : clock - 1;
      waits_[clock].push_back({.begin_ns = span.begin_ns,
                               .end_ns = span.end_ns,
                               .clock = of.pushed_ns != 0 ? clock : before,
                               .for_room = for_room});
    }
    ends_with_wait_ = span.kind == span_kind::wait && of.pushed_ns != 0;
  }
  // Where earlier spans are lost, so is the begin of the first clock. The last one goes on, or
  // is a pull at the end, unless it has pushed, and waited since.
  void drop_ends() {
    if (!all_.empty() && worker_.is_cut) all_.erase(all_.begin());
    if (!all_.empty() && !ends_with_wait_) all_.erase(std::prev(all_.end()));
  }

  const traced_process& worker_;
  std::vector<const trace_span*> program_;
  std::map<std::uint64_t, worker_clock> all_;
  std::map<std::uint64_t, std::vector<noted_wait>> waits_;
  bool ends_with_wait_ = false;
};

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
  void add(const shard_arrivals& at_shard) {
    for (const auto& [clock, by_rank] : at_shard.all()) {
      std::vector<std::int64_t> times;
      for (const auto& [rank, arrival] : by_rank) times.push_back(arrival.begin_ns);
      const auto last = policies::last_of(times);
      std::size_t index = 0;
      for (const auto& [rank, arrival] : by_rank) {
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

// Returns what the shard has noted that answered a worker last in a clock; null: nothing, or
// nobody knows which did. `last`: its number, if that is known.
const shard_arrivals* answered_last(const std::vector<shard_arrivals>& shards,
                                    const job_clock& clock, std::uint32_t rank,
                                    std::optional<std::uint32_t> last) {
  const shard_arrivals* found = nullptr;
  for (const auto& each : shards) {
    if (each.of(clock, rank) == nullptr || (last && *last != each.number())) continue;
    if (!last && found != nullptr && found->number() != each.number()) return nullptr;
    found = &each;
  }
  return found;
}

// Adds to each clock of a worker what the shards say of it.
void add_arrivals(const waiter& of, const program_clocks& program, const push_times& pushes,
                  const std::vector<shard_arrivals>& shards,
                  std::map<std::uint64_t, worker_clock>& to) {
  const auto last_shard = [&](std::uint64_t clock) {
    const auto at = to.find(clock);
    return at == to.end() ? std::nullopt : at->second.last_shard;
  };
  for (auto& [clock, worker] : to) {
    for (const auto& each : shards)
      if (const auto* own = each.of({of.job, clock}, of.rank))
        worker.pushed_bytes += own->bytes;
    wait_parts parts;
    bool is_known = true;
    for (const auto& wait : program.waits(clock)) {
      const auto* at =
          answered_last(shards, {of.job, wait.clock}, of.rank, last_shard(wait.clock));
      is_known = is_known && at != nullptr;
      if (at != nullptr) add_wait(wait, of, pushes, *at, parts);
    }
    if (is_known) worker.waits = parts;
  }
}

// An incarnation of a worker.
struct worker_history {
  worker_history(std::string job_name, const traced_process& process)
      : job(std::move(job_name)),
        of{.job = token_of(process), .rank = number_of(process.writer)},
        program(process),
        clocks(program.take()) {}

  std::string job;
  waiter of;
  program_clocks program;
  std::map<std::uint64_t, worker_clock> clocks;
};

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

std::vector<clock_record> clock_records(const std::vector<process_spans>& spans,
                                        const job_staleness& staleness,
                                        const std::optional<clock_range>& clocks) {
  const auto processes = traced_processes(spans);
  late_workers late;
  const auto summed = summed_jobs(processes);
  std::vector<shard_arrivals> shards;  // and aggregators
  for (const auto& process : processes) {
    if (is_of(process.writer, "worker")) continue;
    const auto& arrived = shards.emplace_back(process);
    if (!is_of(process.writer, "aggregator")) shards.back().forget(summed);
    late.add(arrived);
  }
  std::vector<worker_history> workers;
  push_times pushes;
  for (const auto& process : processes) {
    const auto job = job_of(process.writer);
    if (job.empty()) continue;
    auto& worker = workers.emplace_back(job, process);
    if (const auto at = staleness.find(job); at != staleness.end())
      worker.of.staleness = at->second;
    for (const auto& [clock, each] : worker.clocks)
      if (each.pushed_ns != 0)
        pushes[{{worker.of.job, clock}, worker.of.rank}] = each.pushed_ns;
  }
  records all;
  for (auto& [job, of, program, found] : workers) {
    add_arrivals(of, program, pushes, shards, found);
    for (auto& [clock, worker] : found) {
      if (clocks && (clock < clocks->first || clock > clocks->last)) continue;
      worker.late_ns = late.of(of.job, clock, of.rank);
      if (summed.contains(of.job)) worker.waits.reset();
      auto& into = all[{job, clock}];
      into.job = job;
      into.clock = clock;
      // A later incarnation does a clock again.
      into.workers[of.rank] = worker;
    }
  }
  std::vector<clock_record> found;
  for (auto& [key, record] : all) found.push_back(std::move(record));
  return found;
}

}  // namespace tidegate::launch
