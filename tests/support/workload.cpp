#include "tests/support/workload.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <thread>

namespace tidegate::tests {

namespace {

std::function<void()> begin_watch(const workload_options& options) {
  return options.watch ? options.watch() : [] {};
}

void write_gradient(const tidegate::session& session, std::size_t t,
                    std::span<const float> parameters, std::span<float> gradient) {
  const auto& info = session.info();
  const auto key = workload_key(info.seed, info.rank, session.now(), t);
  for (std::size_t i = 0; i < gradient.size(); ++i)
    gradient[i] = workload_gradient(key, i, parameters[i]);
}

// One full clock over all tables: pull, compute, push.
runtime::status run_clock(tidegate::session& session,
                          const std::vector<tidegate::table>& tables,
                          std::vector<std::vector<float>>& parameters,
                          std::vector<std::vector<float>>& gradients,
                          const workload_options& options) {
  std::vector<tidegate::pending> waiting;
  const auto served = begin_watch(options);
  for (std::size_t t = 0; t < tables.size(); ++t)
    waiting.push_back(session.pull(tables[t], parameters[t]));
  for (auto& pending : waiting)
    if (auto done = pending.wait(); !done.ok()) return done;
  served();
  for (std::size_t t = 0; t < tables.size(); ++t)
    write_gradient(session, t, parameters[t], gradients[t]);
  waiting.clear();
  for (std::size_t t = 0; t < tables.size(); ++t)
    waiting.push_back(session.push(tables[t], gradients[t]));
  return session.clock();
}

// One full clock over ranges of all tables, from and to memory of its own or in place.
runtime::status run_clock_of_ranges(tidegate::session& session,
                                    const std::vector<tidegate::table>& tables,
                                    std::vector<std::vector<float>>& values,
                                    const workload_options& options) {
  const bool packed = options.way == workload_way::packed_ranges;
  const auto& info = session.info();
  std::vector<tidegate::pending> waiting;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const auto ranges = workload_ranges(info.seed, info.rank, session.now(), t, tables[t].size);
    std::uint64_t elements = 0;
    for (const auto& range : ranges) elements += range.last - range.first;
    values[t].resize(elements);
    waiting.push_back(packed ? session.pull(tables[t], ranges, values[t])
                             : session.pull(tables[t], ranges));
  }
  for (auto& pending : waiting)
    if (auto done = pending.wait(); !done.ok()) return done;
  waiting.clear();
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const auto ranges = workload_ranges(info.seed, info.rank, session.now(), t, tables[t].size);
    const auto parameters = session.parameters(tables[t]);
    const auto gradient = packed ? std::span<float>() : session.gradient(tables[t]);
    const auto key = workload_key(info.seed, info.rank, session.now(), t);
    std::size_t at = 0;
    for (const auto& range : ranges)
      for (auto i = range.first; i < range.last; ++i, ++at) {
        const float parameter = packed ? values[t][at] : parameters[i];
        (packed ? values[t][at] : gradient[i]) = workload_gradient(key, i, parameter);
      }
    waiting.push_back(packed ? session.push(tables[t], ranges, values[t])
                             : session.push(tables[t], ranges));
  }
  for (auto& pending : waiting)  // one that is refused has ended
    if (pending.ready())
      if (auto done = pending.wait(); !done.ok()) return done;
  return session.clock();
}

// What is read stays as it is until the push.
runtime::status write_gradient_on_device(tidegate::session& session,
                                         const tidegate::table& table, std::size_t t) {
  const auto parameters = session.device_parameters(table);
  std::vector<float> values(table.size), again(table.size), gradient(table.size);
  if (auto copied = session.copy(values, parameters); !copied.ok()) return copied;
  write_gradient(session, t, values, gradient);
  const auto room = session.device_gradient(table);
  if (!room) return room.error();
  if (auto copied = session.copy(*room, gradient); !copied.ok()) return copied;
  if (auto copied = session.copy(again, parameters); !copied.ok()) return copied;
  if (again != values)
    return {runtime::errc::corrupt, "parameters changed while they were read"};
  return {};
}

runtime::status write_gradients(tidegate::session& session,
                                const std::vector<tidegate::table>& tables) {
  for (std::size_t t = 0; t < tables.size(); ++t) {
    if (!session.device_parameters(tables[t]).empty()) {
      if (auto done = write_gradient_on_device(session, tables[t], t); !done.ok()) return done;
      continue;
    }
    write_gradient(session, t, session.parameters(tables[t]), session.gradient(tables[t]));
  }
  return {};
}

runtime::status pull_in_place(tidegate::session& session,
                              const std::vector<tidegate::table>& tables) {
  std::vector<tidegate::pending> waiting;
  for (const auto& table : tables) waiting.push_back(session.pull(table));
  for (auto& pending : waiting)
    if (auto done = pending.wait(); !done.ok()) return done;
  return {};
}

// Of functions whose results do not depend on chunks.
runtime::status call_functions(tidegate::session& session,
                               const std::vector<tidegate::table>& tables) {
  constexpr double limit = 0.75;
  for (const auto& table : tables) {
    const auto values = session.parameters(table);
    const std::vector<float> before(values.begin(), values.end());
    const double largest = *std::max_element(before.begin(), before.end());
    const auto above = std::count_if(before.begin(), before.end(),
                                     [](float x) { return std::fabs(x) > limit; });
    const auto max = session.call(table, "max");
    if (!max) return max.error();
    const auto count = session.call(table, "count_above", {&limit, 1});
    if (!count) return count.error();
    if (max->front() != largest || count->front() != static_cast<double>(above))
      return {runtime::errc::corrupt, "a function is of other parameters than were pulled"};
    if (!std::equal(before.begin(), before.end(), values.begin()))
      return {runtime::errc::corrupt, "parameters changed while functions were called"};
  }
  return {};
}

constexpr std::uint32_t row_dim = 8;

// Some more than once, and of all 64 bits.
std::vector<std::uint64_t> row_ids(std::uint64_t seed, std::uint32_t rank,
                                   std::uint64_t clock) {
  runtime::rng random(runtime::mix64(seed ^ (rank * 15485863ULL + clock * 49979687ULL)));
  constexpr std::uint64_t ids_below = 5000;
  std::vector<std::uint64_t> ids(random.below(300));
  for (auto& id : ids) id = runtime::mix64(random.below(ids_below));
  return ids;
}

// Of functions whose results do not depend on parts.
runtime::status call_functions_of_rows(const tidegate::row_table& table) {
  double largest = -std::numeric_limits<double>::infinity();
  double rows = 0;
  const auto visit = [&](std::uint64_t, std::span<const float> values) {
    ++rows;
    for (const double x : values) largest = std::max(largest, x);
  };
  if (auto read = table.for_each(visit); !read.ok()) return read;
  const auto max = table.call("max");
  if (!max) return max.error();
  const auto count = table.call("count_rows");
  if (!count) return count.error();
  if (max->front() != largest || count->front() != rows)
    return {runtime::errc::corrupt, "a function is of other rows than were pulled"};
  return {};
}

// One full clock of the table of rows, up to its end.
runtime::status run_clock_of_rows(const tidegate::session& session,
                                  const tidegate::row_table& table, bool calls) {
  const auto& info = session.info();
  const auto ids = row_ids(info.seed, info.rank, session.now());
  std::vector<float> values(ids.size() * row_dim);
  if (auto pulled = table.pull(ids, values).wait(); !pulled.ok()) return pulled;
  if (calls)
    if (auto called = call_functions_of_rows(table); !called.ok()) return called;
  const auto ahead = table.prefetch(row_ids(info.seed, info.rank, session.now() + 1));
  if (ahead.ready())  // refused, or there is nothing to ask for
    if (auto asked = ahead.wait(); !asked.ok()) return asked;
  const auto key = workload_key(info.seed, info.rank, session.now(), row_dim);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = workload_gradient(
        key, static_cast<std::size_t>(ids[i / row_dim] * row_dim + i % row_dim), values[i]);
  const auto pushed = table.push(ids, values);
  return pushed.ready() ? pushed.wait() : runtime::status();  // one that is refused has ended
}

runtime::status run_clock_in_place(tidegate::session& session,
                                   const std::vector<tidegate::table>& tables,
                                   const workload_options& options, bool first) {
  // An exchange leaves the parameters of the next clock.
  if (options.way != workload_way::exchange || first) {
    const auto served = begin_watch(options);
    if (auto done = pull_in_place(session, tables); !done.ok()) return done;
    served();
  }
  if (options.way == workload_way::functions)
    if (auto done = call_functions(session, tables); !done.ok()) return done;
  if (auto done = write_gradients(session, tables); !done.ok()) return done;
  if (options.way == workload_way::exchange) {
    const auto served = begin_watch(options);
    auto done = session.exchange(tables);
    served();
    return done;
  }
  std::vector<tidegate::pending> waiting;
  for (const auto& table : tables) waiting.push_back(session.push(table));
  return session.clock();
}

}  // namespace

std::vector<tidegate::element_range> workload_ranges(std::uint64_t seed, std::uint32_t rank,
                                                     std::uint64_t clock, std::size_t table,
                                                     std::uint64_t elements) {
  runtime::rng random(
      runtime::mix64(seed ^ (rank * 15485863ULL + clock * 32452843ULL + table)));
  std::vector<tidegate::element_range> ranges;
  if (random.below(8) == 0) return ranges;  // nothing of this table
  for (auto first = random.below(elements); first < elements;) {
    const auto last = first + 1 + random.below(elements - first);
    ranges.push_back({.first = first, .last = last});
    first = last + random.below(elements / 3 + 2);
  }
  return ranges;
}

runtime::status run_workload(tidegate::session& session, const workload_options& options) {
  std::vector<tidegate::table> tables;
  std::vector<std::vector<float>> parameters;
  // Two sets: a pushed gradient stays untouched while its clock may be in flight.
  std::vector<std::vector<std::vector<float>>> gradients(2);
  const bool calls_rows = options.way == workload_way::called_rows;
  const bool has_rows = calls_rows || options.way == workload_way::rows;
  const std::size_t dense = has_rows ? 1 : options.shapes.size();
  for (std::size_t t = 0; t < dense; ++t) {
    if (!options.device.empty() && t == options.device_from)
      if (auto used = session.use_device({.name = options.device}); !used.ok()) return used;
    tidegate::table_options table_options;
    table_options.init_uniform = 1.0F;
    auto table =
        session.open_table("table-" + std::to_string(t), options.shapes[t], table_options);
    if (!table) return table.error();
    tables.push_back(*table);
    parameters.emplace_back(table->size);
    for (auto& set : gradients) set.emplace_back(table->size);
  }
  std::optional<tidegate::row_table> rows;
  if (has_rows) {
    auto opened = session.open_rows("rows", row_dim);
    if (!opened) return opened.error();
    rows = *opened;
  }
  runtime::rng pauses(options.pause_seed * 977 + session.info().rank);
  const auto begin = session.now();
  for (auto c = begin; c < options.clocks; ++c) {
    if (options.pause_us_max > 0)
      std::this_thread::sleep_for(
          std::chrono::microseconds(pauses.below(options.pause_us_max + 1)));
    const bool of_ranges =
        options.way == workload_way::ranges || options.way == workload_way::packed_ranges;
    if (rows)
      if (auto done = run_clock_of_rows(session, *rows, calls_rows); !done.ok()) return done;
    auto done = of_ranges ? run_clock_of_ranges(session, tables, parameters, options)
                : options.way == workload_way::spans
                    ? run_clock(session, tables, parameters, gradients[c % 2], options)
                    : run_clock_in_place(session, tables, options, c == begin);
    if (!done.ok()) return done;
  }
  return session.finish();
}

}  // namespace tidegate::tests
