#include "launch/simulate/scale/costs.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "policies/placement/placement.hpp"

namespace tidegate::sim::scale {

namespace {

double seconds(double bytes, double rate) noexcept {
  return rate > 0 ? bytes / rate : 0;
}

// The share of its own rate that each of `count` processes of a host reaches.
double share_of(const setting& what, double count) noexcept {
  if (what.memory_rate <= 0 || what.sum_rate <= 0) return 1;
  return std::min(1.0, what.memory_rate / (what.sum_rate * count));
}

// A shard without a chunk would have nothing to do: chunks are at most what gives each one.
std::uint64_t chunk_of(const setting& what) noexcept {
  constexpr std::uint64_t unit = 64;
  const auto most = std::max(what.bytes / what.shards / unit, std::uint64_t{1}) * unit;
  return std::min(what.chunk_bytes, most);
}

std::uint64_t largest_part(const setting& what, std::uint64_t chunk) {
  policies::placement shards(what.shards, chunk);
  const std::array<std::uint64_t, 1> elements{
      std::max<std::uint64_t>(what.bytes / sizeof(float), 1)};
  shards.add(elements);
  return *std::max_element(shards.load_bytes().begin(), shards.load_bytes().end());
}

}  // namespace

costs costs_of(const setting& what) {
  const auto chunk = static_cast<double>(chunk_of(what));
  const auto whole = static_cast<double>(what.bytes);
  const auto part = static_cast<double>(largest_part(what, chunk_of(what)));
  const auto shards_here = what.one_host ? what.shards : what.shards_per_host;
  const auto cost_of = [&](double bytes, double rate, double share) {
    return cost{seconds(bytes, rate) / share, seconds(std::min(chunk, bytes), rate) / share};
  };
  const double link = what.one_host ? 0 : what.link_rate;
  // What slows the sums slows the steps alike.
  const auto shard_share = share_of(what, shards_here);
  const auto frames = [&](double bytes) {
    const auto count = what.one_host ? 1 : std::ceil(bytes / chunk);
    return cost{what.seconds_per_frame * count, what.seconds_per_frame};
  };
  costs made;
  made.host_link = cost_of(whole, link, 1);
  made.shard_link = cost_of(part, link, 1.0 / what.shards_per_host);
  made.shard_frames = frames(part);
  made.shard_sum = cost_of(part, what.sum_rate, shard_share);
  made.shard_step = cost_of(part, what.step_rate, shard_share);
  made.relay_frames = frames(whole);
  made.relay_sum = cost_of(whole, what.sum_rate, share_of(what, 1));
  made.ring = {what.seconds_per_frame, what.seconds_per_frame};
  made.latency = what.one_host ? what.ring_latency : what.latency;
  made.ring_latency = what.ring_latency;
  return made;
}

}  // namespace tidegate::sim::scale
