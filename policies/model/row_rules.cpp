#include "policies/model/row_rules.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string>

#include "runtime/base/limits.hpp"
#include "runtime/optimizers/row_check.hpp"

namespace tidegate::policies {

namespace {

using runtime::errc;
using runtime::status;

status refused(const std::string& problem, const std::string& allowed) {
  return {errc::invalid_argument, problem + "; allowed: " + allowed};
}

status check_number(const std::string& name, std::uint64_t value, std::uint64_t most) {
  if (value >= 1 && value <= most) return {};
  return refused(name + " " + std::to_string(value), "1 to " + std::to_string(most));
}

// A part that had less than a block would read each row anew.
status check_memory(std::uint64_t bytes, std::uint64_t parts) {
  const auto least = parts * runtime::limits::part_memory_min;
  if (bytes >= least && bytes <= runtime::limits::row_memory_max) return {};
  return refused(
      "memory of " + std::to_string(bytes) + " bytes in " + std::to_string(parts) + " parts",
      "64KiB for each part, " + std::to_string(least) + " bytes, to 16TiB");
}

status check_segments(const table_spec& table) {
  const auto& segments = table.rows.segments;
  constexpr auto most = runtime::limits::row_segments_max;
  if (segments.size() > most)
    return refused(std::to_string(segments.size()) + " segments",
                   "1 to " + std::to_string(most));
  std::uint64_t columns = 0;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const auto& segment = segments[i];
    const auto name = "segments[" + std::to_string(i) + "]";
    if (auto some =
            check_number(name + ".columns", segment.columns, runtime::limits::row_dim_max);
        !some.ok())
      return some;
    if (auto checked = check_columns(segment.optimizer, segment.init); !checked.ok())
      return {checked.code(), name + ": " + checked.message()};
    columns += segment.columns;
  }
  if (columns > runtime::limits::row_dim_max)
    return refused("segments of " + std::to_string(columns) + " columns",
                   "1 to " + std::to_string(runtime::limits::row_dim_max));
  if (columns == table.rows.dim) return {};
  return refused("segments of " + std::to_string(columns) + " columns in rows of dim " +
                     std::to_string(table.rows.dim),
                 "as many as dim, or a table without dim");
}

status check_rows(const table_spec& table, const job_spec& job) {
  if (table.shape.size() != 1) return refused("parts are not one number", "one");
  if (auto parts = check_number("parts", table.shape.front(), runtime::limits::row_parts_max);
      !parts.ok())
    return parts;
  auto columns = table.rows.segments.empty() ? check_columns(table.optimizer, table.rows.init)
                                             : check_segments(table);
  if (!columns.ok()) return columns;
  if (auto dim = check_number("dim", table.rows.dim, runtime::limits::row_dim_max); !dim.ok())
    return dim;
  if (auto room =
          check_number("capacity", table.rows.capacity, runtime::limits::table_rows_max);
      !room.ok())
    return room;
  if (table.rows.memory > 0)
    if (auto enough = check_memory(table.rows.memory, table.shape.front()); !enough.ok())
      return enough;
  if (!is_valid(table.rows.lifetime, table.rows.capacity))
    return refused("such numbers of admission or eviction", "those of docs/yaml.md");
  const auto parts = table.shape.front();
  if (table.rows.lifetime.rows > 0 && table.rows.lifetime.rows < parts)
    return refused("evict.rows " + std::to_string(table.rows.lifetime.rows) + " in " +
                       std::to_string(parts) + " parts",
                   "one row for each part at least");
  const auto of_part = part_lifetime(table.rows.lifetime, parts);
  if (part_capacity(table.rows, parts) > runtime::limits::part_rows_max ||
      of_part.candidates + runtime::lifetime_block > runtime::limits::part_rows_max)
    return refused(
        "room for " + std::to_string(table.rows.capacity) + " rows and " +
            std::to_string(table.rows.lifetime.candidates) + " candidates in " +
            std::to_string(parts) + " parts",
        "some 2^29 rows, and as many candidates, for each part; more parts have room for "
        "more");
  if (job.aggregators.kind != aggregators_kind::none)
    return refused("aggregators do not sum rows yet", "a job without aggregators");
  return {};
}

}  // namespace

runtime::expected<runtime::eviction_order> eviction_order_of(std::string_view word) {
  std::string allowed;
  for (const auto& [known, order] : eviction_words) {
    if (known == word) return order;
    allowed += (allowed.empty() ? "" : ", ") + std::string(known);
  }
  return runtime::fail(refused("evict.by '" + std::string(word) + "'", allowed));
}

bool is_valid(const runtime::row_lifetime& lifetime, std::uint64_t capacity) noexcept {
  constexpr auto rows_max = runtime::limits::table_rows_max;
  return lifetime.admit_count >= 1 && lifetime.admit_count <= admit_count_max &&
         lifetime.admits_at_once() == (lifetime.candidates == 0) &&
         lifetime.candidates <= rows_max && lifetime.unseen <= unseen_clocks_max &&
         (lifetime.rows == 0 || lifetime.rows == capacity) &&
         std::find(std::begin(runtime::eviction_orders), std::end(runtime::eviction_orders),
                   lifetime.by) != std::end(runtime::eviction_orders);
}

bool fits_optimizer(const table_spec& table, optimizer_kind kind) noexcept {
  return table.has_rows() ? runtime::traits_of(kind).steps_rows : runtime::steps_elements(kind);
}

status set_lifetime(const lifetime_options& options, std::optional<std::uint64_t> capacity,
                    rows_spec& into) {
  auto& lifetime = into.lifetime;
  if (capacity && options.rows)
    return refused("capacity and evict.rows are both given", "one of them");
  if (options.candidates && options.admit_count.value_or(1) == 1)
    return refused("admit.candidates where rows are made at their first push",
                   "only with admit.count above 1");
  if (options.by && !options.rows)
    return refused("evict.by without evict.rows", "only with evict.rows");
  const auto take = [](const char* name, const std::optional<std::uint64_t>& given,
                       std::uint64_t most, std::uint64_t& number) -> status {
    if (!given) return {};
    number = *given;
    return check_number(name, *given, most);
  };
  std::uint64_t count = 1;
  for (const auto& checked :
       {take("capacity", capacity, runtime::limits::table_rows_max, into.capacity),
        take("admit.count", options.admit_count, admit_count_max, count),
        take("admit.candidates", options.candidates, runtime::limits::table_rows_max,
             lifetime.candidates),
        take("evict.unseen", options.unseen, unseen_clocks_max, lifetime.unseen),
        take("evict.rows", options.rows, runtime::limits::table_rows_max, lifetime.rows)})
    if (!checked.ok()) return checked;
  lifetime.admit_count = static_cast<std::uint32_t>(count);
  if (options.rows) into.capacity = lifetime.rows;
  if (!lifetime.admits_at_once() && !options.candidates) lifetime.candidates = into.capacity;
  lifetime.by = options.by.value_or(lifetime.by);
  return {};
}

status set_memory(std::optional<std::uint64_t> bytes, std::uint64_t parts, rows_spec& into) {
  into.memory = bytes.value_or(0);
  return bytes ? check_memory(*bytes, parts) : status();
}

status check_columns(const optimizer_spec& optimizer, const init_spec& init) {
  if (auto checked = runtime::check_row_optimizer(optimizer); !checked.ok()) return checked;
  if (optimizer.clip_value > 0) return refused("optimizer.clip_value of a table of rows", "0");
  if (init.kind == init_kind::pushed || !std::isfinite(init.value))
    return refused("such first values of rows", "{uniform: a} or {constant: v}");
  return {};
}

void settle_segments(table_spec& table) noexcept {
  const auto& segments = table.rows.segments;
  if (segments.empty()) return;
  std::uint64_t columns = 0;
  for (const auto& segment : segments) columns += segment.columns;
  if (table.rows.dim == 0)
    table.rows.dim = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(columns, std::numeric_limits<std::uint32_t>::max()));
  table.optimizer = segments.front().optimizer;
}

status check_table(const table_spec& table, const job_spec& job) {
  const auto reduce = table.optimizer.reduce;
  if (!runtime::is_sum(reduce) && job.clip_norm > 0)
    return refused("optimizer.reduce: " + runtime::reduction_of(table.optimizer) +
                       " in a job that clips the norm of sums",
                   "gradients.clip_norm: 0, or another reduction");
  for (const auto& segment : table.rows.segments)
    if (segment.optimizer.reduce != reduce ||
        segment.optimizer.reduce_rule != table.optimizer.reduce_rule)
      return refused("segments with different optimizer.reduce", "one for all of a row");
  if (table.has_rows() || !table.rows.segments.empty()) return check_rows(table, job);
  if (table.rows.memory > 0) return refused("memory of a dense table", "only of rows");
  if (fits_optimizer(table, table.optimizer.kind)) return {};
  return refused("optimizer '" + std::string(runtime::optimizer_name(table.optimizer.kind)) +
                     "' steps tables of rows alone",
                 runtime::dense_optimizer_names());
}

}  // namespace tidegate::policies
