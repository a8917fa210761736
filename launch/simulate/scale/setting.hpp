// What is modelled: one cluster, its machines and one job. Plain values in bytes and seconds,
// any thread.
#pragma once

#include <cstdint>

#include "policies/model/spec.hpp"

namespace tidegate::sim::scale {

// How long a worker computes in one clock.
struct compute_spec {
  enum class kind : std::uint8_t { constant, lognormal, exponential };
  kind shape = kind::constant;
  double mean = 0.1;         // of a worker that is not slow, pauses apart
  double spread = 0;         // lognormal: deviation of the logarithm; exponential: drawn share
  double slow_fraction = 0;  // of the workers, fixed ones; at least one when above 0
  double slow_factor = 1;    // how much longer those take
  double pause_chance = 0;   // per clock
  double pause_seconds = 0;  // added then
};

// 0 for a rate: as fast as can be.
struct setting {
  policies::consistency_spec consistency;
  policies::aggregators_spec aggregators;
  std::uint32_t workers = 1;
  std::uint32_t shards = 1;
  std::uint64_t clocks = 100;  // of a worker, on average
  std::uint64_t seed = 1;

  std::uint64_t bytes = 100 << 20;  // of the parameters, and of one gradient
  std::uint64_t chunk_bytes = 512 << 10;
  compute_spec compute;

  bool one_host = false;  // everything shares memory; pushes are read in place
  std::uint32_t workers_per_host = 1;
  std::uint32_t shards_per_host = 1;
  double link_rate = 0;     // of a host, in each direction
  double latency = 0;       // of a frame between hosts
  double ring_latency = 0;  // of a word between processes of a host
  double sum_rate = 0;      // gradient bytes per second that a shard or aggregator takes in
  double step_rate = 0;     // parameter bytes per second of the optimizer's step
  double memory_rate = 0;   // all processes of a host together, as sum_rate
  double seconds_per_frame = 0;  // of a shard or aggregator
};

}  // namespace tidegate::sim::scale
