#include "launch/simulate/scale/costs.hpp"

#include <algorithm>
#include <cmath>

#include "policies/placement/placement.hpp"

namespace tidegate::sim::scale {

namespace {

double seconds(double bytes, double rate) noexcept {
  return rate > 0 ? bytes / rate : 0;
}

// The share of its own rate that each of `count` processes of a host reaches.
double share_of(const setting& combination, double count) noexcept {
  if (combination.memory_rate <= 0 || combination.sum_rate <= 0) return 1;
  return std::min(1.0, combination.memory_rate / (combination.sum_rate * count));
}

// A shard without a chunk would have nothing to do: chunks are at most what gives each one.
std::uint64_t chunk_of(const setting& combination) noexcept {
  constexpr std::uint64_t unit = 64;
  const auto most =
      std::max(combination.bytes / combination.shards / unit, std::uint64_t{1}) * unit;
  return std::min(combination.chunk_bytes, most);
}

std::uint64_t largest_part(const setting& combination, std::uint64_t chunk) {
  policies::placement shards(combination.shards, chunk);
  policies::table_spec table;
  table.shape = {std::max<std::uint64_t>(combination.bytes / sizeof(float), 1)};
  shards.add({&table, 1});
  return *std::max_element(shards.load_bytes().begin(), shards.load_bytes().end());
}

}  // namespace

costs costs_of(const setting& combination) {
  const auto chunk = static_cast<double>(chunk_of(combination));
  const auto whole = static_cast<double>(combination.bytes);
  const auto part = static_cast<double>(largest_part(combination, chunk_of(combination)));
  const auto shards_here =
      combination.one_host ? combination.shards : combination.shards_per_host;
  const auto cost_of = [&](double bytes, double rate, double share) {
    return cost{seconds(bytes, rate) / share, seconds(std::min(chunk, bytes), rate) / share};
  };
  const double link = combination.one_host ? 0 : combination.link_rate;
  // What slows the sums slows the steps alike.
  const auto shard_share = share_of(combination, shards_here);
  const auto frames = [&](double bytes) {
    const auto count = combination.one_host ? 1 : std::ceil(bytes / chunk);
    return cost{combination.seconds_per_frame * count, combination.seconds_per_frame};
  };
  costs result;
  result.host_link = cost_of(whole, link, 1);
  result.shard_link = cost_of(part, link, 1.0 / combination.shards_per_host);
  result.shard_frames = frames(part);
  result.shard_sum = cost_of(part, combination.sum_rate, shard_share);
  result.shard_step = cost_of(part, combination.step_rate, shard_share);
  result.relay_frames = frames(whole);
  result.relay_sum = cost_of(whole, combination.sum_rate, share_of(combination, 1));
  result.ring = {combination.seconds_per_frame, combination.seconds_per_frame};
  result.latency = combination.one_host ? combination.ring_latency : combination.latency;
  result.ring_latency = combination.ring_latency;
  return result;
}

}  // namespace tidegate::sim::scale
