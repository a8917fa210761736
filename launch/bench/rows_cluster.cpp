#include "launch/bench/rows_cluster.hpp"

#include <algorithm>

#include "launch/bench/cluster_run.hpp"
#include "launch/bench/huge_array.hpp"
#include "launch/bench/rows_worker.hpp"
#include "launch/text/text_table.hpp"
#include "runtime/base/machine_memory.hpp"
#include "runtime/rows/row_layout.hpp"

namespace tidegate::bench {

namespace {

// Small, so that there are many pulls while the table grows; and pulls of the grown table, of
// which no more are needed.
constexpr std::uint32_t batch_growing_max = 1024;
constexpr std::uint32_t grown_max = 2000;

double seconds_of(const span_ns& when) {
  return static_cast<double>(when.end - when.begin) * 1e-9;
}

// The table's, and the roofline's; neither has less than values and state.
std::uint64_t bytes_of(const rows_options& options) {
  return std::uint64_t{2} * options.rows *
         (2 * runtime::row_stride(options.dim) * sizeof(float) + 16);
}

runtime::status check_memory(const rows_options& options) {
  const auto needed = bytes_of(options);
  const auto memory = runtime::machine_memory();
  if (needed <= memory / 10 * 9) return {};
  return {runtime::errc::invalid_argument,
          "--rows " + std::to_string(options.rows) + " --dim " + std::to_string(options.dim) +
              ": table and roofline take " + launch::bytes_for_people(needed) + " of " +
              launch::bytes_for_people(memory) + "; take fewer"};
}

rows_cluster_figures collect(const arena& shared, const rows_order& order,
                             std::uint32_t workers) {
  const auto plan = plan_rows(order, workers);
  rows_cluster_figures figures;
  figures.batch_growing = plan.batch_growing;
  for (std::uint32_t rank = 0; rank < workers; ++rank) {
    for (std::uint32_t i = 0; i < plan.growing + plan.grown; ++i)
      (i < plan.growing ? figures.pulls_growing : figures.pulls_grown)
          .push_back(seconds_of(shared.recorded(rank, i)));
    const auto account = shared.reported(rank);
    figures.workers_cpu_seconds += account.cpu_seconds;
    figures.servers_cpu_seconds += account.servers_cpu_seconds;
    figures.verified += account.verified;
    figures.rows_per_round += static_cast<double>(account.rows) / order.rows.repeats;
    figures.bare_rows_per_round += static_cast<double>(account.bare_rows) / order.rows.repeats;
  }
  for (auto i = order.warmup; i < plan.rounds; ++i) {
    figures.seconds.push_back(static_cast<double>(shared.exchange_ns(plan.round(i))) * 1e-9);
    figures.bare_seconds.push_back(static_cast<double>(shared.exchange_ns(plan.bare_round(i))) *
                                   1e-9);
  }
  return figures;
}

}  // namespace

rows_plan plan_rows(const rows_order& order, std::uint32_t workers) {
  rows_plan plan;
  plan.batch_growing = std::min(order.rows.batch, batch_growing_max);
  const auto each_clock = std::uint64_t{workers} * plan.batch_growing;
  plan.growing = static_cast<std::uint32_t>((order.rows.rows + each_clock - 1) / each_clock);
  plan.grown = std::min(plan.growing, grown_max);
  plan.rounds = order.warmup + order.rows.repeats;
  return plan;
}

runtime::expected<rows_cluster_figures> measure_rows_cluster(const bench_options& options) {
  if (auto enough = check_memory(options.rows); !enough.ok()) return runtime::fail(enough);
  run_place here;
  if (auto ready = here.prepare(options.pin); !ready.ok()) return runtime::fail(ready);
  rows_order order{.arena = here.folder().path("arena"),
                   .rows = options.rows,
                   .warmup = options.warmup,
                   .place = {.shards = options.shards, .cpus = here.cpus()}};
  order.rows.repeats = options.repeats;
  const auto plan = plan_rows(order, options.workers);
  if (plan.iterations() > iterations_max)
    return runtime::fail(runtime::errc::invalid_argument,
                         "--rows " + std::to_string(options.rows.rows) + " --batch " +
                             std::to_string(options.rows.batch) +
                             ": the table would grow for " + std::to_string(plan.growing) +
                             " clocks; take fewer rows, or larger batches");
  // A host may give a virtual machine its memory at first touch: then that is done now.
  { const huge_array touched(bytes_of(options.rows) / sizeof(float)); }
  const auto shared = arena::create(order.arena, {options.workers, plan.iterations()});
  if (!shared) return runtime::fail(shared.error());
  const auto spec = measured_cluster(options, rows_worker_command(here.program(), order));
  if (auto ran = run_cluster(here, spec, *shared); !ran.ok()) return runtime::fail(ran);
  return collect(*shared, order, options.workers);
}

}  // namespace tidegate::bench
