#include "launch/bench/exchanger.hpp"

#include "launch/bench/server_processes.hpp"

namespace tidegate::bench {

exchanger::exchanger(actors::session& job, std::uint64_t elements)
    : job_(&job), gradient_(elements), parameters_(elements) {}

runtime::expected<exchanger> exchanger::open(actors::session& job, std::uint64_t elements,
                                             std::uint32_t tables) {
  exchanger made(job, elements);
  for (std::uint32_t t = 0; t < tables; ++t) {
    const auto begin = elements * t / tables;
    const auto end = elements * (t + 1) / tables;
    auto table = job.open_table("bench-" + std::to_string(t), {end - begin});
    if (!table) return runtime::fail(table.error());
    made.tables_.push_back(*table);
  }
  return made;
}

runtime::status exchanger::exchange() {
  std::size_t at = 0;
  for (const auto& table : tables_) {
    pushed_.push_back(job_->push(table, gradient_.all().subspan(at, table.size)));
    at += table.size;
  }
  if (auto next = job_->clock(); !next.ok()) return next;
  at = 0;
  for (const auto& table : tables_) {
    pulled_.push_back(job_->pull(table, parameters_.all().subspan(at, table.size)));
    at += table.size;
  }
  for (auto& one : pulled_)
    if (auto done = one.wait(); !done.ok()) return done;
  return {};
}

// Under BSP a pull that has come says that the push was applied, but not yet that its memory is
// the caller's again.
runtime::status exchanger::settle() {
  for (auto& one : pushed_)
    if (auto done = one.wait(); !done.ok()) return done;
  pushed_.clear();
  pulled_.clear();
  return {};
}

double exchanger::servers_cpu_seconds() const {
  return servers_ == nullptr ? 0 : servers_->cpu_seconds();
}

}  // namespace tidegate::bench
