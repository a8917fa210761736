// How fast a table of rows is (runtime/rows), by one thread: its index alone, reading, stepping
// with AdaGrad, and how long single batches take while it grows.
//
// The roofline is the same loops over private memory on huge pages, of rows whose numbers are
// known: as a program would do that needs no index and shares nothing. Each batch is measured
// with the table and without it, one after the other, so what slows the machine down for a
// while slows both; a share is the time without the table over that with it. Times are CPU
// times of the thread, which never waits: on a shared machine others lengthen the rest.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/status.hpp"

namespace tidegate::bench {

struct rows_options {
  std::uint32_t rows = 10'000'000;
  std::uint32_t dim = 32;
  std::uint32_t batch = 16'384;  // ids
  double zipf = 0;               // theta; 0: all ids are drawn alike
  std::uint32_t repeats = 100;   // batches of each operation
  // Bytes of rows that a shard of a cluster keeps in memory, the rest in a file; 0: all.
  std::uint64_t memory = 0;

  friend bool operator==(const rows_options&, const rows_options&) = default;
};

struct rows_rate {
  std::string operation;
  // Each batch has its rows, the time it took, and that without a table, if there is such.
  std::vector<double> rows;
  std::vector<double> seconds;
  std::vector<double> bare_seconds;
};

// Batches that make rows, from an empty table to a full one.
struct rows_growth {
  std::vector<double> seconds;
  std::vector<double> wall_seconds;
};

struct rows_figures {
  std::vector<rows_rate> rates;
  rows_growth index;       // alone, in memory whose pages are there
  rows_growth table;       // with values, state and pages
  double index_bytes = 0;  // per row
};

// Blocks; one thread. Errors: invalid_argument (more memory than the machine has), those of
// row_table::create.
runtime::expected<rows_figures> measure_rows(const rows_options& options);

std::string rows_table(const rows_options& options, const rows_figures& figures);
std::string rows_json(const rows_options& options, const rows_figures& figures);

}  // namespace tidegate::bench
