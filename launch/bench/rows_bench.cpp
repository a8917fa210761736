#include "launch/bench/rows_bench.hpp"

#include <algorithm>
#include <ctime>
#include <utility>

#include "launch/bench/arena.hpp"
#include "launch/bench/huge_array.hpp"
#include "launch/bench/row_draws.hpp"
#include "launch/text/text_table.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/machine_memory.hpp"
#include "runtime/rows/row_table.hpp"

namespace tidegate::bench {

namespace {

using runtime::row_number;

double cpu_time() {
  timespec now = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// CPU time that `work` takes.
template <class Work>
double seconds_of(const Work& work) {
  const double begin = cpu_time();
  work();
  return cpu_time() - begin;
}

// Appends how long `work` takes.
template <class Work>
void note(rows_growth& into, const Work& work) {
  const auto begin = now_ns();
  into.seconds.push_back(seconds_of(work));
  into.wall_seconds.push_back(static_cast<double>(now_ns() - begin) * 1e-9);
}

std::vector<std::uint64_t> ids_from(std::uint64_t first, std::uint64_t count) {
  std::vector<std::uint64_t> ids(count);
  for (std::uint64_t i = 0; i < count; ++i) ids[i] = id_of_row(first + i);
  return ids;
}

rows_rate rate_named(std::string operation) {
  rows_rate rate;
  rate.operation = std::move(operation);
  return rate;
}

// The index without anything beside it, in memory whose pages are there.
void measure_index(const rows_options& options, rows_figures& into) {
  const auto layout = runtime::index_layout_for(options.rows);
  huge_array memory(layout.bytes / sizeof(float));
  runtime::row_index index(reinterpret_cast<std::byte*>(memory.data()), layout, 1);
  std::vector<row_number> rows(options.batch);
  std::vector<std::uint8_t> added(options.batch);
  auto inserts = rate_named("index: insert");
  for (std::uint64_t first = 0; first < options.rows; first += options.batch) {
    const auto ids =
        ids_from(first, std::min<std::uint64_t>(options.batch, options.rows - first));
    note(into.index, [&] {
      const auto done = index.find_or_add(ids, std::span(rows).first(ids.size()),
                                          std::span(added).first(ids.size()));
      TIDEGATE_ASSERT(done, "there is room for all rows");
    });
    inserts.rows.push_back(static_cast<double>(ids.size()));
  }
  inserts.seconds = into.index.seconds;
  auto lookups = rate_named("index: look up"), misses = rate_named("index: look up in vain");
  row_draws batches(options, 1);
  for (std::uint32_t i = 0; i < options.repeats; ++i) {
    auto batch = batches.next();
    const auto found = std::span(rows).first(batch.ids.size());
    for (auto* rate : {&lookups, &misses}) {
      rate->rows.push_back(static_cast<double>(batch.ids.size()));
      rate->seconds.push_back(seconds_of([&] { index.view().find(batch.ids, found); }));
      for (auto& id : batch.ids) id = ~id;
    }
  }
  const double used = index.view().buckets_used() * double{sizeof(runtime::rows::bucket)};
  into.index_bytes = used / static_cast<double>(options.rows);
  for (auto* rate : {&inserts, &lookups, &misses}) into.rates.push_back(std::move(*rate));
}

void grow(const rows_options& options, runtime::row_table& table, rows_figures& into) {
  std::vector<row_number> rows(options.batch);
  auto made = rate_named("table: make rows");
  for (std::uint64_t first = 0; first < options.rows; first += options.batch) {
    const auto ids =
        ids_from(first, std::min<std::uint64_t>(options.batch, options.rows - first));
    note(into.table, [&] {
      const auto done = table.find_or_create(ids, std::span(rows).first(ids.size()));
      TIDEGATE_ASSERT(done, "there is room for all rows");
    });
    made.rows.push_back(static_cast<double>(ids.size()));
  }
  made.seconds = into.table.seconds;
  into.rates.push_back(std::move(made));
}

void measure_batches(const rows_options& options, runtime::row_table& table,
                     rows_figures& into) {
  bare_rows bare(options);
  row_draws batches(options, 1);
  std::vector<float> out(std::size_t{options.batch} * options.dim);
  auto gathers = rate_named("table: gather"), updates = rate_named("table: update"),
       both = rate_named("table: pull and push");
  // In turn who comes first, and what rows are copied to is in the caches for both.
  const auto add = [&](rows_rate& rate, const drawn_rows& batch, const auto& with,
                       const auto& without) {
    const bool first = rate.rows.size() % 2 == 0;
    const auto time = [&](const auto& work) {
      std::fill(out.begin(), out.end(), 0.0F);
      return seconds_of(work);
    };
    rate.rows.push_back(static_cast<double>(batch.ids.size()));
    if (first) rate.seconds.push_back(time(with));
    rate.bare_seconds.push_back(time(without));
    if (!first) rate.seconds.push_back(time(with));
  };
  for (std::uint32_t i = 0; i < options.repeats; ++i) {
    const auto a = batches.next(), b = batches.next(), c = batches.next();
    const std::vector<float> gradients(a.ids.size() * options.dim, 0.01F);
    const std::vector<float> others(b.ids.size() * options.dim, 0.01F);
    const std::vector<float> last(c.ids.size() * options.dim, 0.01F);
    const auto gather = [&](const drawn_rows& batch) {
      table.gather(batch.ids, std::span(out).first(batch.ids.size() * options.dim));
    };
    const auto update = [&](const drawn_rows& batch, const std::vector<float>& of) {
      const auto done = table.update({.clock = i}, batch.ids, of);
      TIDEGATE_ASSERT(done.ok(), "all rows exist");
    };
    add(
        gathers, a, [&] { gather(a); }, [&] { bare.gather(a.numbers, out); });
    add(
        updates, b, [&] { update(b, others); }, [&] { bare.update(b.numbers, others); });
    add(
        both, c,
        [&] {
          gather(c);
          update(c, last);
        },
        [&] {
          bare.gather(c.numbers, out);
          bare.update(c.numbers, last);
        });
  }
  for (auto* rate : {&gathers, &updates, &both}) into.rates.push_back(std::move(*rate));
}

}  // namespace

runtime::expected<rows_figures> measure_rows(const rows_options& options) {
  runtime::row_table_options wanted;
  wanted.name = "bench";
  wanted.capacity = options.rows;
  wanted.dim = options.dim;
  wanted.optimizer = rows_optimizer();
  const auto layout = runtime::row_layout_for(
      {.capacity = options.rows,
       .dim = options.dim,
       .state_floats = runtime::state_floats(wanted.optimizer, options.dim)});
  if (!layout) return runtime::fail(layout.error());
  const auto memory = runtime::machine_memory();
  if (2 * layout->bytes > memory / 10 * 9)
    return runtime::fail(runtime::errc::invalid_argument,
                         "--rows " + std::to_string(options.rows) + " --dim " +
                             std::to_string(options.dim) + ": table and roofline take " +
                             launch::bytes_for_people(2 * layout->bytes) + " of " +
                             launch::bytes_for_people(memory) + "; take fewer");
  rows_figures figures;
  measure_index(options, figures);
  // A host may give a virtual machine its memory at first touch: then that is done now.
  { const huge_array touched(layout->bytes / sizeof(float)); }
  auto table = runtime::row_table::create(wanted);
  if (!table) return runtime::fail(table.error());
  grow(options, *table, figures);
  measure_batches(options, *table, figures);
  return figures;
}

}  // namespace tidegate::bench
