#include "launch/trace/clock_follower.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "launch/trace/span_names.hpp"
#include "launch/trace/traced_process.hpp"

namespace tidegate::launch {

namespace {

constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t gone_ns = 10 * second;
constexpr std::int64_t rest_least_ns = second / 5;
constexpr std::int64_t rest_most_ns = 10 * second;
// Between two looks, of a job that makes as many as one may in ten seconds.
constexpr std::uint64_t lost_most = 10'000'000;

// When each worker of a job has noted something last, by rank.
using noted_times = std::map<std::uint32_t, std::int64_t>;

std::map<std::string, noted_times> noted_times_of(const spans_file& file) {
  std::map<std::string, noted_times> all;
  for (const auto& process : file.processes) {
    const auto job = job_of(process.writer);
    if (job.empty()) continue;
    auto& noted = all[job][number_of(process.writer)];
    for (const auto& span : process.spans) noted = std::max(noted, span.end_ns);
  }
  return all;
}

// Returns the last clock that all workers of a job have ended which still do anything.
std::optional<std::uint64_t> ended_by_all(const std::vector<clock_record>& records,
                                          const std::string& job, const noted_times& noted) {
  std::map<std::uint32_t, std::uint64_t> ended;
  for (const auto& record : records)
    if (record.job == job)
      for (const auto& [rank, worker] : record.workers) ended[rank] = record.clock;
  std::int64_t newest = 0;
  for (const auto& [rank, at] : noted) newest = std::max(newest, at);
  std::optional<std::uint64_t> all;
  for (const auto& [rank, at] : noted) {
    if (at + gone_ns <= newest) continue;
    const auto own = ended.find(rank);
    if (own == ended.end()) return std::nullopt;
    all = std::min(all.value_or(own->second), own->second);
  }
  return all;
}

}  // namespace

std::vector<clock_record> clock_follower::take(const spans_file& file, bool is_last) {
  find_rest(file);
  std::size_t spans = 0;
  for (const auto& process : file.processes) spans += process.spans.size();
  auto records = clock_records(file.processes, file.staleness, std::nullopt);
  std::map<std::string, std::optional<std::uint64_t>> ended;
  for (const auto& [job, noted] : noted_times_of(file))
    ended[job] = ended_by_all(records, job, noted);
  std::vector<clock_record> found;
  for (auto& record : records) {
    if (!job_.empty() && record.job != job_) continue;
    const auto until = ended[record.job];
    if (!is_last && (!until || record.clock > *until)) continue;
    auto [next, is_new] = next_.try_emplace(record.job, record.clock);
    // What a process has noted may be anything.
    if (record.clock < next->second || record.clock - next->second > spans + lost_most)
      continue;
    lost_ += record.clock - next->second;
    next->second = record.clock + 1;
    found.push_back(std::move(record));
  }
  return found;
}

void clock_follower::find_rest(const spans_file& file) {
  auto rest = rest_most_ns;
  for (const auto& process : file.processes) {
    if (process.spans.empty()) continue;
    auto begin = std::numeric_limits<std::int64_t>::max();
    auto end = std::numeric_limits<std::int64_t>::min();
    for (const auto& span : process.spans) {
      begin = std::min(begin, span.begin_ns);
      end = std::max(end, span.end_ns);
    }
    rest = std::min(rest, (end - begin) / 2);
  }
  rest_ns_ = std::max(rest, rest_least_ns);
}

}  // namespace tidegate::launch
