#include "launch/bench/exchanger.hpp"

#include <algorithm>

#include "launch/bench/server_processes.hpp"

namespace tidegate::bench {

runtime::expected<std::vector<tidegate::table>> open_tables(tidegate::session& job,
                                                            std::uint64_t elements,
                                                            std::uint32_t tables) {
  std::vector<tidegate::table> result;
  for (std::uint32_t t = 0; t < tables; ++t) {
    const auto begin = elements * t / tables;
    const auto end = elements * (t + 1) / tables;
    auto table = job.open_table("bench-" + std::to_string(t), {end - begin});
    if (!table) return runtime::fail(table.error());
    result.push_back(*table);
  }
  return result;
}

runtime::expected<exchanger> exchanger::open(tidegate::session& job, std::uint64_t elements,
                                             std::uint32_t tables, std::uint32_t percent) {
  exchanger result(job);
  result.percent_ = percent;
  const auto share = percent == whole_tables ? 100 : percent;
  auto opened = open_tables(job, (elements * 100 + share - 1) / share, tables);
  if (!opened) return runtime::fail(opened.error());
  result.tables_ = std::move(*opened);
  for (std::uint32_t t = 0; t < tables; ++t) {
    const auto last = elements * (t + 1) / tables - elements * t / tables;
    result.ranges_.push_back(
        {.first = 0, .last = std::clamp<std::uint64_t>(last, 1, result.tables_[t].size)});
  }
  return result;
}

// As session::exchange(): the pulls wait for all pushes, and nobody waits for those.
runtime::status exchanger::exchange_ranges() {
  for (std::size_t t = 0; t < tables_.size(); ++t) job_->push(tables_[t], {&ranges_[t], 1});
  if (auto ended = job_->clock(); !ended.ok()) return ended;
  pulls_.clear();
  for (std::size_t t = 0; t < tables_.size(); ++t)
    pulls_.push_back(job_->pull(tables_[t], {&ranges_[t], 1}));
  for (auto& pull : pulls_)
    if (auto ended = pull.wait(); !ended.ok()) return ended;
  return {};
}

double exchanger::servers_cpu_seconds() const {
  return servers_ == nullptr ? 0 : servers_->cpu_seconds();
}

}  // namespace tidegate::bench
