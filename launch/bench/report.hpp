// What `tidegate bench exchange` and `latency` print and write. Pure, any thread.
#pragma once

#include <string>
#include <vector>

#include "launch/bench/exchange.hpp"

namespace tidegate::bench {

std::string exchange_table(const bench_options& options,
                           const std::vector<exchange_result>& results);
std::string exchange_json(const bench_options& options,
                          const std::vector<exchange_result>& results);
std::string latency_table(const std::vector<exchange_result>& results);
std::string latency_json(const bench_options& options,
                         const std::vector<exchange_result>& results);

// Bytes of gradient that all exchanges of one size took in.
double payload_bytes(const bench_options& options, const exchange_result& result);

}  // namespace tidegate::bench
