// `tidegate bench exchange` and `latency`: a real cluster per size, measured from inside its
// workers. Main thread only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launch/bench/options.hpp"

namespace tidegate::bench {

struct exchange_result {
  std::uint64_t bytes = 0;  // of one worker's gradient
  std::uint32_t warmup = 0;
  std::vector<double> seconds;  // of every timed exchange
  double workers_cpu_seconds = 0;
  double servers_cpu_seconds = 0;
  std::uint64_t verified = 0;  // exchanges whose every element was compared, over all ranks
  std::optional<double> payload_bytes_copied;  // by us, per exchange, when the run reports it
};

// How often a size is measured unless told.
std::uint32_t default_iterations(std::uint64_t bytes);

// One size: starts the cluster, waits for its end, collects. Nothing is left. Errors: io_error,
// corrupt (a result was wrong), cancelled (a signal came), timed_out, what the run says.
runtime::expected<exchange_result> measure_exchange(const bench_options& options,
                                                    std::uint64_t bytes);

}  // namespace tidegate::bench
