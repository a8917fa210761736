// The calls of session for tables of rows: what is checked of them, the commands that they
// become, and reading a table row by row. The session's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "actors/store/worker_rows.hpp"
#include "policies/worker/core.hpp"
#include "runtime/base/sha256.hpp"
#include "runtime/base/status.hpp"
#include <tidegate/pending.hpp>
#include <tidegate/rows.hpp>

namespace tidegate::actors {

class session_impl;

class row_calls {
 public:
  using extent = policies::worker_core::extent;
  using visitor = std::function<void(std::uint64_t id, std::span<const float> values)>;

  explicit row_calls(session_impl& home) : home_(home) {}

  // session::open_rows(), row_table::push(), pull(), prefetch(), for_each(), call(). Errors:
  // theirs.
  runtime::expected<row_table> open(std::string_view name, std::uint32_t dim,
                                    const std::optional<row_table_options>& options);
  pending push(std::uint32_t table, std::span<const std::uint64_t> ids,
               std::span<const float> gradients);
  pending pull(std::uint32_t table, std::span<const std::uint64_t> ids, std::span<float> out,
               extent wanted);
  pending prefetch(std::uint32_t table, std::span<const std::uint64_t> ids);
  runtime::status for_each(std::uint32_t table, extent wanted, const visitor& visit);
  runtime::expected<std::vector<double>> call(std::uint32_t table, std::string_view function,
                                              std::span<const double> arguments);
  // Adds ids and values of all rows at the end of the job, ascending by id: whatever parts and
  // shards there are. Errors: those of for_each().
  runtime::status add_to(runtime::sha256& hash, std::uint32_t table);

  // The memory of a table that is attached, made at the first time; null for a dense one.
  std::shared_ptr<worker_rows> attach(const policies::table_grant& grant);
  bool has(std::uint32_t table) const { return memories_.contains(table); }

 private:
  // Parts that are asked for a function at a time: a shard copies all rows of each that it has
  // until the results are there.
  static constexpr std::uint32_t parts_called = 16;

  struct table_memory {
    std::shared_ptr<worker_rows> rows;
    std::optional<pending> pulling;          // the last one
    std::optional<pending> ahead;            // the last prefetch
    std::optional<std::uint64_t> pushed_at;  // clock

    bool is_pulling() const { return pulling && !pulling->ready(); }
  };

  // `values`: as many as were given of these ids, where there are some.
  runtime::status check(std::uint32_t table, std::size_t ids, std::optional<std::size_t> values,
                        const char* doing) const;
  // Refuses a pull while the last one is under way.
  runtime::status check_idle(std::uint32_t table, const char* doing) const;
  pending start(std::uint32_t table, worker_rows::part_list parts, extent wanted,
                std::span<float> out);

  session_impl& home_;
  std::map<std::uint32_t, table_memory> memories_;
};

}  // namespace tidegate::actors
