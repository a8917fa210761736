// One exchange through the client's interface, in place. All that the benchmark knows of that
// interface's way with memory is here. One thread; the session outlives it.
#pragma once

#include <vector>

#include "launch/bench/measure.hpp"
#include <tidegate/session.hpp>

namespace tidegate::bench {

class server_processes;

// Opens `tables` tables that share `elements` elements. Errors: those of open_table.
runtime::expected<std::vector<tidegate::table>> open_tables(tidegate::session& job,
                                                            std::uint64_t elements,
                                                            std::uint32_t tables);

class exchanger final : public participant {
 public:
  // Errors: those of open_tables().
  static runtime::expected<exchanger> open(tidegate::session& job, std::uint64_t elements,
                                           std::uint32_t tables);

  // Whose CPU time counts as the servers'; may be left out.
  void watch(const server_processes* servers) noexcept { servers_ = servers; }

  std::size_t tables() const override { return tables_.size(); }
  std::span<float> gradient(std::size_t table) override {
    return job_->gradient(tables_[table]);
  }
  runtime::status exchange() override { return job_->exchange(tables_); }
  std::span<const float> parameters(std::size_t table) const override {
    return job_->parameters(tables_[table]);
  }
  double servers_cpu_seconds() const override;

 private:
  explicit exchanger(tidegate::session& job) : job_(&job) {}

  tidegate::session* job_;
  std::vector<tidegate::table> tables_;
  const server_processes* servers_ = nullptr;
};

}  // namespace tidegate::bench
