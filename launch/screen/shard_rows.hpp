// Shards of jobs that run, as rows of a table. Pure, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <nlohmann/json.hpp>

#include "launch/screen/run_lines.hpp"

namespace tidegate::launch {

struct shard_row {
  std::uint64_t shard = 0;
  double busy = 0, stopped = 0, starved = 0;  // shares of the time of its process
  double last = 0, late = 0;           // of the job that it holds up most; seconds a clock
  double bytes_in = 0, bytes_out = 0;  // a second
  std::uint64_t resident_bytes = 0, pushes_held = 0;
  bool in_place = false;    // no parameters were ever sent: they are read there
  bool is_named = false;    // a job waits for it
  bool is_replica = false;  // a process that follows in its chain
};

// Returns one row for each shard, by number, with its replicas behind it.
std::vector<shard_row> shards_of(const nlohmann::json& status,
                                 const std::vector<std::uint64_t>& named);

// Returns rows_most lines at most, with a heading; nothing where there is no room for a row.
// Where not all have room replicas are left out, and the named ones come first, then the
// busiest.
std::vector<styled_line> shard_lines(std::vector<shard_row> rows, std::size_t columns,
                                     std::size_t rows_most);

}  // namespace tidegate::launch
