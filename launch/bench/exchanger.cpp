#include "launch/bench/exchanger.hpp"

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
                                             std::uint32_t tables) {
  exchanger result(job);
  auto opened = open_tables(job, elements, tables);
  if (!opened) return runtime::fail(opened.error());
  result.tables_ = std::move(*opened);
  return result;
}

double exchanger::servers_cpu_seconds() const {
  return servers_ == nullptr ? 0 : servers_->cpu_seconds();
}

}  // namespace tidegate::bench
