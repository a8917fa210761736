#include "actors/session/row_calls.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "actors/session/function_calls.hpp"
#include "actors/session/not_finite.hpp"
#include "actors/session/optimizers.hpp"
#include "actors/session/session_impl.hpp"
#include "policies/model/option_rules.hpp"
#include "policies/model/row_rules.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/kernels/update.hpp"

namespace tidegate::actors {

using runtime::errc;
using runtime::fail;
using runtime::status;

namespace {

runtime::expected<policies::init_spec> init_of(std::optional<float> uniform,
                                               std::optional<float> constant,
                                               std::string_view table) {
  if (!uniform && !constant) return policies::rows_spec().init;
  return policies::checked_init(
      {.uniform = uniform.value_or(0.0F), .constant = constant.value_or(0.0F), .pushed = false},
      table);
}

status set_segments(const row_table_options& options, policies::table_spec& into) {
  if (options.segments.empty()) return {};
  const auto name = "segments of table '" + into.name + "'";
  if (!options.optimizer.name.empty() || options.init_uniform || options.init_constant)
    return {errc::invalid_argument,
            name +
                ": an optimizer or first values of the table are given, too; allowed: those "
                "of segments"};
  for (const auto& segment : options.segments) {
    if (segment.optimizer.name.empty())
      return {errc::invalid_argument,
              name + ": one has no optimizer; allowed: " + runtime::row_optimizer_names()};
    const auto optimizer = to_spec(segment.optimizer, into.name);
    if (!optimizer) return optimizer.error();
    const auto init = init_of(segment.init_uniform, segment.init_constant, into.name);
    if (!init) return init.error();
    into.rows.segments.push_back(
        {.columns = segment.columns, .optimizer = *optimizer, .init = *init});
  }
  policies::settle_segments(into);
  return {};
}

}  // namespace

runtime::expected<row_table> row_calls::open(std::string_view name, std::uint32_t dim,
                                             const std::optional<row_table_options>& options) {
  policies::table_request request;
  request.job = home_.info_.job;
  auto& spec = request.spec;
  spec.name = name;
  spec.rows.dim = dim;
  spec.rows.capacity = policies::row_capacity_default;
  spec.shape = {policies::row_parts_default};
  if (dim == 0)
    return fail(errc::invalid_argument, "table '" + spec.name +
                                            "': rows of dim 0; allowed: 1 to " +
                                            std::to_string(runtime::limits::row_dim_max));
  if (options) {
    request.options_given = true;
    request.optimizer_given = !options->optimizer.name.empty();
    auto optimizer = to_spec(options->optimizer, spec.name);
    if (!optimizer) return fail(optimizer.error());
    spec.optimizer = *optimizer;
    auto init = init_of(options->init_uniform, options->init_constant, spec.name);
    if (!init) return fail(init.error());
    spec.rows.init = *init;
    if (auto set = set_segments(*options, spec); !set.ok()) return fail(set);
    const auto wrong = [&](const status& problem) {
      return fail(problem.code(), "options of table '" + spec.name + "': " + problem.message());
    };
    policies::lifetime_options lifetime{.admit_count = options->admit_count,
                                        .candidates = options->admit_candidates,
                                        .unseen = options->evict_unseen,
                                        .rows = options->evict_rows};
    if (options->evict_by) {
      const auto order = policies::eviction_order_of(*options->evict_by);
      if (!order) return wrong(order.error());
      lifetime.by = *order;
    }
    if (auto set = policies::set_lifetime(lifetime, options->capacity, spec.rows); !set.ok())
      return wrong(set);
    spec.shape = {options->parts.value_or(policies::row_parts_default)};
    if (auto set = policies::set_memory(options->memory, spec.shape.front(), spec.rows);
        !set.ok())
      return wrong(set);
  }
  const auto opened = home_.open(request);
  if (!opened) return fail(opened.error());
  return row_table(*this, opened->id, dim);
}

std::shared_ptr<worker_rows> row_calls::attach(const policies::table_grant& grant) {
  if (grant.rows.dim == 0) return nullptr;
  auto& memory = memories_[grant.table];
  if (!memory.rows)
    memory.rows = std::make_shared<worker_rows>(grant, home_.shell_.core().welcome().seed,
                                                home_.shell_.core().welcome().token);
  return memory.rows;
}

status row_calls::check(std::uint32_t table, std::size_t ids, std::optional<std::size_t> values,
                        const char* doing) const {
  if (auto usable = home_.check_usable(); !usable.ok()) return usable;
  const auto at = memories_.find(table);
  if (at == memories_.end())
    return {errc::not_found,
            std::string(doing) + " of a table of rows that this session did not open"};
  const std::size_t dim = at->second.rows->dim();
  const auto subject = std::string(doing) + " of table '" +
                       home_.shell_.core().table(table)->name + "' with " +
                       std::to_string(ids) + " ids";
  if (ids >= std::numeric_limits<std::uint32_t>::max())
    return {errc::over_limit, subject + "; allowed: below 2^32"};
  if (values && *values != ids * dim)
    return {errc::invalid_argument, subject + " and " + std::to_string(*values) +
                                        " values; its rows have " + std::to_string(dim)};
  return {};
}

status row_calls::check_idle(std::uint32_t table, const char* doing) const {
  if (!memories_.at(table).is_pulling()) return {};
  return {errc::out_of_order, std::string(doing) + " of table '" +
                                  home_.shell_.core().table(table)->name +
                                  "': the pull before it is under way"};
}

pending row_calls::push(std::uint32_t table, std::span<const std::uint64_t> ids,
                        std::span<const float> gradients) {
  if (auto checked = check(table, ids.size(), gradients.size(), "push"); !checked.ok())
    return failed(std::move(checked));
  if (home_.checks_finite()) {
    const auto at = runtime::kernels::first_not_finite(gradients.data(), gradients.size());
    if (at < gradients.size()) {
      const auto dim = memories_.at(table).rows->dim();
      return failed(refuse_not_finite({.table = home_.shell_.core().table(table)->name +
                                                "', row '" + std::to_string(ids[at / dim]),
                                       .value = std::isnan(gradients[at]) ? "NaN" : "infinity",
                                       .element = at % dim,
                                       .rank = home_.info_.rank,
                                       .clock = home_.clock_}));
    }
  }
  if (auto outcome = home_.before_moving(); !outcome.ok()) return failed(std::move(outcome));
  // What is pushed out of order would spoil what was pushed before.
  auto& memory = memories_.at(table);
  if (memory.is_pulling() || memory.pushed_at == home_.clock_)
    return failed({errc::out_of_order,
                   "push of table '" + home_.shell_.core().table(table)->name + "' at clock " +
                       std::to_string(home_.clock_) + out_of_order_text});
  worker_command command;
  command.half = home_.half();
  auto parts = memories_.at(table).rows->write_push(command.half, ids, gradients);
  if (!parts) return failed(parts.error());
  memory.pushed_at = home_.clock_;
  command.kind = worker_command::action::push;
  command.table = table;
  command.rate = home_.rate_;
  command.done = home_.push_state();
  command.chunks = std::move(*parts);
  return home_.start(std::move(command));
}

pending row_calls::start(std::uint32_t table, worker_rows::part_list parts, extent wanted,
                         std::span<float> out) {
  worker_command command;
  command.kind = worker_command::action::pull_rows;
  command.table = table;
  command.extent = wanted;
  command.chunks = std::move(parts);
  command.row_values = out;
  auto& memory = memories_.at(table);
  memory.pulling = home_.start(std::move(command));
  return *memory.pulling;
}

pending row_calls::pull(std::uint32_t table, std::span<const std::uint64_t> ids,
                        std::span<float> out, extent wanted) {
  if (auto checked = check(table, ids.size(), out.size(), "pull"); !checked.ok())
    return failed(std::move(checked));
  if (auto idle = check_idle(table, "pull"); !idle.ok()) return failed(std::move(idle));
  auto parts = memories_.at(table).rows->write_gather(ids);
  if (!parts) return failed(parts.error());
  if (parts->empty()) return failed({});  // nothing is asked: it has ended well
  return start(table, std::move(*parts), wanted, out);
}

pending row_calls::prefetch(std::uint32_t table, std::span<const std::uint64_t> ids) {
  if (auto checked = check(table, ids.size(), std::nullopt, "prefetch"); !checked.ok())
    return failed(std::move(checked));
  if (auto idle = check_idle(table, "prefetch"); !idle.ok()) return failed(std::move(idle));
  auto& memory = memories_.at(table);
  if (memory.ahead && !memory.ahead->ready())
    return failed({errc::out_of_order, "prefetch of table '" +
                                           home_.shell_.core().table(table)->name +
                                           "': the prefetch before it is under way"});
  auto parts = memory.rows->write_ahead(ids);
  if (!parts) return failed(parts.error());
  if (parts->empty()) return failed({});
  worker_command command;
  command.kind = worker_command::action::prefetch_rows;
  command.table = table;
  command.chunks = std::move(*parts);
  memory.ahead = home_.start(std::move(command));
  return *memory.ahead;
}

namespace {

// The rows of a part that have arrived and not been visited.
struct part_cursor {
  runtime::row_batch page;
  std::size_t next = 0;
  bool has_more = true;  // a page behind this one

  bool needs_page() const { return has_more && next == page.ids.size(); }
};

}  // namespace

status row_calls::for_each(std::uint32_t table, extent wanted, const visitor& visit) {
  if (auto checked = check(table, 0, 0, "reading"); !checked.ok()) return checked;
  if (auto idle = check_idle(table, "reading"); !idle.ok()) return idle;
  auto& rows = *memories_.at(table).rows;
  std::vector<part_cursor> cursors(rows.parts());
  while (true) {
    worker_rows::part_list asked;
    for (std::uint32_t part = 0; part < rows.parts(); ++part) {
      const auto& at = cursors[part];
      if (!at.needs_page()) continue;
      rows.write_scan(part,
                      at.page.ids.empty() ? std::nullopt : std::optional(at.page.ids.back()));
      asked.push_back(part);
    }
    if (!asked.empty()) {
      if (auto pulled = start(table, asked, wanted, {}).wait(); !pulled.ok()) return pulled;
      for (const auto part : asked) {
        const auto page = rows.page(part);
        if (!page) return page.error();
        cursors[part] = {
            .page = *page, .next = 0, .has_more = page->ids.size() == rows.page_rows()};
      }
    }
    // Up to the first part that may have more before the others' next rows.
    const auto is_later = [&](std::uint32_t a, std::uint32_t b) {
      return cursors[a].page.ids[cursors[a].next] > cursors[b].page.ids[cursors[b].next];
    };
    std::vector<std::uint32_t> heap;  // parts with rows, the one with the least id first
    for (std::uint32_t part = 0; part < rows.parts(); ++part)
      if (cursors[part].next < cursors[part].page.ids.size()) heap.push_back(part);
    std::make_heap(heap.begin(), heap.end(), is_later);
    bool any_lacks = false;
    while (!heap.empty() && !any_lacks) {
      std::pop_heap(heap.begin(), heap.end(), is_later);
      auto& least = cursors[heap.back()];
      visit(least.page.ids[least.next], least.page.row(least.next));
      any_lacks = ++least.next == least.page.ids.size() && least.has_more;
      if (least.next < least.page.ids.size())
        std::push_heap(heap.begin(), heap.end(), is_later);
      else
        heap.pop_back();
    }
    if (heap.empty() && !any_lacks) return {};
  }
}

runtime::expected<std::vector<double>> row_calls::call(std::uint32_t table,
                                                       std::string_view function,
                                                       std::span<const double> arguments) {
  if (auto checked = check(table, 0, 0, "call"); !checked.ok()) return fail(checked);
  if (auto idle = check_idle(table, "call"); !idle.ok()) return fail(idle);
  auto& rows = *memories_.at(table).rows;
  const auto subject = call_subject(function, home_.shell_.core().table(table)->name);
  if (auto checked = check_call(subject, function, arguments); !checked.ok())
    return fail(checked);
  runtime::call_wire request;
  runtime::encode(runtime::function_call{.name = function, .arguments = arguments}, request);
  runtime::function_results all;
  for (std::uint32_t part = 0; part < rows.parts() && all.outcome == errc::ok;) {
    worker_rows::part_list asked;
    for (; part < rows.parts() && asked.size() < parts_called; ++part) {
      rows.write_call(part, request);
      asked.push_back(part);
    }
    if (auto called = start(table, asked, extent::as_policy, {}).wait(); !called.ok())
      return fail(called);
    for (const auto of : asked) {
      const auto next = runtime::decode_results(rows.results(of));
      if (next && of == 0) all = *next;
      if (!next || (of > 0 && !runtime::combine(all, *next)))
        return fail(errc::corrupt, subject + ": parts have results that do not go together");
    }
  }
  return values_of(all, subject, arguments.size());
}

status row_calls::add_to(runtime::sha256& hash, std::uint32_t table) {
  return for_each(table, extent::to_the_end,
                  [&](std::uint64_t id, std::span<const float> values) {
                    hash.update(std::as_bytes(std::span(&id, 1)));
                    hash.update(std::as_bytes(values));
                  });
}

}  // namespace tidegate::actors

namespace tidegate {

using policies::worker_core;

pending row_table::push(std::span<const std::uint64_t> ids,
                        std::span<const float> gradients) const {
  return home_->push(id_, ids, gradients);
}

pending row_table::pull(std::span<const std::uint64_t> ids, std::span<float> out) const {
  return home_->pull(id_, ids, out, worker_core::extent::as_policy);
}

pending row_table::prefetch(std::span<const std::uint64_t> ids) const {
  return home_->prefetch(id_, ids);
}

pending row_table::pull_final(std::span<const std::uint64_t> ids, std::span<float> out) const {
  return home_->pull(id_, ids, out, worker_core::extent::final_barrier);
}

expected<std::vector<double>> row_table::call(std::string_view function,
                                              std::span<const double> arguments) const {
  return home_->call(id_, function, arguments);
}

status row_table::for_each(const row_visitor& visit) const {
  return home_->for_each(id_, worker_core::extent::as_policy, visit);
}

}  // namespace tidegate
