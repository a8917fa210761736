#include "launch/trace/clock_follower.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "launch/trace/write_trace.hpp"

namespace tidegate::launch {

namespace {

constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t gone_ns = 10 * second;
constexpr std::int64_t rest_least_ns = second / 5;
constexpr std::int64_t rest_most_ns = 10 * second;

// Returns the last clock that all workers of a job have ended which still do anything.
std::optional<std::uint64_t> ended_by_all(const std::vector<clock_record>& records,
                                          const std::string& job) {
  struct latest {
    std::uint64_t clock = 0;
    std::int64_t ended_ns = 0;
  };
  std::map<std::uint32_t, latest> of_rank;
  std::int64_t newest_ns = 0;
  for (const auto& record : records) {
    if (record.job != job) continue;
    for (const auto& [rank, worker] : record.workers) {
      of_rank[rank] = {record.clock, worker.ended_ns};
      newest_ns = std::max(newest_ns, worker.ended_ns);
    }
  }
  std::optional<std::uint64_t> ended;
  for (const auto& [rank, last] : of_rank)
    if (last.ended_ns + gone_ns > newest_ns)
      ended = std::min(ended.value_or(last.clock), last.clock);
  return ended;
}

}  // namespace

std::vector<clock_record> clock_follower::take(const spans_file& file, bool is_last) {
  find_rest(file);
  auto records = clock_records(file.processes, file.staleness, std::nullopt);
  std::map<std::string, std::optional<std::uint64_t>> ended;
  for (const auto& record : records)
    if (!ended.contains(record.job)) ended[record.job] = ended_by_all(records, record.job);
  std::vector<clock_record> found;
  for (auto& record : records) {
    const auto next = next_.find(record.job);
    if (next != next_.end() && record.clock < next->second) continue;
    if (!is_last && record.clock > ended[record.job]) continue;
    if (next != next_.end()) lost_ += record.clock - next->second;
    next_[record.job] = record.clock + 1;
    found.push_back(std::move(record));
  }
  return found;
}

// As long as it took to fill half of the ring that fills first.
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
    const auto halves = 2 * static_cast<double>(process.spans.size()) / spans_kept;
    rest = std::min(rest, static_cast<std::int64_t>(static_cast<double>(end - begin) / halves));
  }
  rest_ns_ = std::max(rest, rest_least_ns);
}

}  // namespace tidegate::launch
