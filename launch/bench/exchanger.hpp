// One exchange through the client's interface, in place. All that the benchmark knows of that
// interface's way with memory is here. One thread; the session outlives it.
#pragma once

#include <vector>

#include "launch/bench/measure.hpp"
#include <tidegate/session.hpp>

namespace tidegate::bench {

class server_processes;

// What an exchange is of: whole tables, or so many percent of each, which are pushed and pulled
// as a range.
inline constexpr std::uint32_t whole_tables = 0;

// Opens `tables` tables that share `elements` elements. Errors: those of open_table.
runtime::expected<std::vector<tidegate::table>> open_tables(tidegate::session& job,
                                                            std::uint64_t elements,
                                                            std::uint32_t tables);

class exchanger final : public participant {
 public:
  // `elements`: that are exchanged. Errors: those of open_tables().
  static runtime::expected<exchanger> open(tidegate::session& job, std::uint64_t elements,
                                           std::uint32_t tables,
                                           std::uint32_t percent = whole_tables);

  // Whose CPU time counts as the servers'; may be left out.
  void watch(const server_processes* servers) noexcept { servers_ = servers; }

  std::size_t tables() const override { return tables_.size(); }
  std::span<float> gradient(std::size_t table) override {
    return job_->gradient(tables_[table]).first(ranges_[table].last);
  }
  runtime::status exchange() override {
    return percent_ == whole_tables ? job_->exchange(tables_) : exchange_ranges();
  }
  std::span<const float> parameters(std::size_t table) const override {
    const auto all = job_->parameters(tables_[table]);
    return all.empty() ? all : all.first(ranges_[table].last);
  }
  double servers_cpu_seconds() const override;

 private:
  explicit exchanger(tidegate::session& job) : job_(&job) {}
  runtime::status exchange_ranges();

  tidegate::session* job_;
  std::vector<tidegate::table> tables_;
  std::uint32_t percent_ = whole_tables;
  std::vector<tidegate::element_range> ranges_;  // of each table, from its begin
  std::vector<tidegate::pending> pulls_;
  const server_processes* servers_ = nullptr;
};

}  // namespace tidegate::bench
