// What a modelled run came to. Plain values, any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tidegate::sim::scale {

// What a run can be waiting for.
enum class resource : std::uint8_t {
  compute,     // share of time that workers compute
  stragglers,  // share of time that pulls are parked, waiting for somebody's push
  host_link,   // the busier direction, of the busiest host
  shard_link,
  shard,
  aggregator,  // the busiest
};
inline constexpr std::array<std::string_view, 6> resource_names{
    "compute", "stragglers", "worker link", "shard link", "shard", "aggregator"};

struct outcome {
  double seconds = 0;  // modelled
  std::uint64_t worker_clocks = 0;
  double rate = 0;            // worker clocks per second
  double efficiency = 0;      // of as many workers that never wait, pause or are slow
  double waiting_mean = 0;    // share of a worker's time that it does not compute
  double waiting_p99 = 0;     // over workers
  double parked_mean = 0;     // of it, for other workers' pushes
  double staleness_mean = 0;  // clocks, over pulls
  std::uint64_t staleness_p99 = 0;
  std::uint64_t staleness_max = 0;
  std::array<double, resource_names.size()> used{};  // by resource, share of the time
  resource bottleneck = resource::compute;           // the most used
  std::uint64_t steps = 0;                           // of the simulation
};

// Clocks that pulls lagged behind, counted.
class staleness_counts {
 public:
  void add(std::uint64_t clocks) {
    if (clocks >= counts_.size()) counts_.resize(clocks + 1, 0);
    ++counts_[clocks];
  }
  void put_into(outcome& into) const;

 private:
  std::vector<std::uint64_t> counts_;
};

// The smallest value that at least 99 % do not exceed; 0 without values.
double percentile_99(std::vector<double> values);

}  // namespace tidegate::sim::scale
