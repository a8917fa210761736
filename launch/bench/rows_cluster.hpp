// How fast rows are over a whole cluster: workers pull and push batches of a table that shards
// hold, beside the roofline. Main thread only.
//
// First the table grows from nothing: each clock, every worker pushes rows that are new and
// pulls others that exist, and how long each pull takes is kept; then the same with rows that
// all exist. After that come rounds: some clocks of pulls and pushes in a row, and then the
// roofline, in which each worker is a bare thread that gathers and steps as many rows of its
// own memory, where the share of one worker of all rows lies.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launch/bench/options.hpp"
#include "launch/bench/worker_place.hpp"

namespace tidegate::bench {

// Clocks in a row that a round measures as one.
inline constexpr std::uint32_t clocks_of_round = 8;

struct rows_order {
  std::string arena;
  rows_options rows;         // with `repeats` rounds that count
  std::uint32_t warmup = 0;  // rounds before those
  worker_place place;

  friend bool operator==(const rows_order&, const rows_order&) = default;
};

// What workers do, and where in the arena they write when each began and ended.
struct rows_plan {
  std::uint32_t batch_growing = 0;  // rows that a worker pushes and pulls while the table grows
  std::uint32_t growing = 0;        // clocks
  std::uint32_t grown = 0;          // clocks
  std::uint32_t rounds = 0;         // with those that do not count

  std::uint32_t iterations() const noexcept { return growing + grown + 2 * rounds; }
  std::uint32_t round(std::uint32_t number) const noexcept {
    return growing + grown + 2 * number;
  }
  std::uint32_t bare_round(std::uint32_t number) const noexcept { return round(number) + 1; }
};
rows_plan plan_rows(const rows_order& order, std::uint32_t workers);

struct rows_cluster_figures {
  std::uint32_t batch_growing = 0;
  std::vector<double> pulls_growing;  // seconds of each pull, of all workers
  std::vector<double> pulls_grown;
  double rows_per_round = 0;  // pushed, and pulled as often, by all workers
  double bare_rows_per_round = 0;
  std::vector<double> seconds;       // of each round
  std::vector<double> bare_seconds;  // of each of the roofline's
  double servers_cpu_seconds = 0;    // of all rounds
  double workers_cpu_seconds = 0;
  std::uint64_t verified = 0;  // times that rows were compared
};

// Starts the cluster, waits for its end, collects. Nothing is left. Errors: invalid_argument
// (more memory than the machine has), those of measure_exchange().
runtime::expected<rows_cluster_figures> measure_rows_cluster(const bench_options& options);

std::string rows_cluster_table(const bench_options& options,
                               const rows_cluster_figures& figures);
std::string rows_cluster_json(const bench_options& options,
                              const rows_cluster_figures& figures);

}  // namespace tidegate::bench
