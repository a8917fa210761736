#include "policies/model/row_rules.hpp"

#include <cmath>
#include <string>

#include "runtime/base/limits.hpp"

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

}  // namespace

bool steps_rows(optimizer_kind kind) noexcept {
  return kind == optimizer_kind::sgd || kind == optimizer_kind::adagrad ||
         kind == optimizer_kind::adam;
}

status check_rows(const table_spec& table, const job_spec& job) {
  if (table.shape.size() != 1) return refused("parts are not one number", "one");
  if (auto parts = check_number("parts", table.shape.front(), runtime::limits::row_parts_max);
      !parts.ok())
    return parts;
  if (auto dim = check_number("dim", table.rows.dim, runtime::limits::row_dim_max); !dim.ok())
    return dim;
  if (auto room =
          check_number("capacity", table.rows.capacity, runtime::limits::table_rows_max);
      !room.ok())
    return room;
  if (part_capacity(table.rows.capacity, table.shape.front()) > runtime::limits::part_rows_max)
    return refused("capacity " + std::to_string(table.rows.capacity) + " in " +
                       std::to_string(table.shape.front()) + " parts",
                   "some 2^29 rows for each part; more parts have room for more");
  if (!steps_rows(table.optimizer.kind))
    return refused("optimizer '" + std::string(runtime::optimizer_name(table.optimizer.kind)) +
                       "' does not step rows",
                   "sgd, adagrad, adam");
  if (table.optimizer.clip_value > 0)
    return refused("optimizer.clip_value of a table of rows", "0");
  if (table.rows.init.kind == init_kind::pushed || !std::isfinite(table.rows.init.value))
    return refused("such first values of rows", "{uniform: a} or {constant: v}");
  if (job.aggregators.kind != aggregators_kind::none)
    return refused("aggregators do not sum rows yet", "a job without aggregators");
  if (job.clip_norm > 0)
    return refused("the norm of gradients of rows is not measured yet",
                   "gradients.clip_norm: 0");
  return {};
}

}  // namespace tidegate::policies
