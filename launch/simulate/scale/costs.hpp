// What every step of a setting costs, in seconds. A pure function of the setting.
//
// All shards are alike, so one is modelled: the one with the most bytes, as placement puts
// them. Its part of a gradient comes interleaved with the parts of the others.
#pragma once

#include "launch/simulate/scale/setting.hpp"

namespace tidegate::sim::scale {

// Seconds of a transfer: all of it, and one chunk of it.
struct cost {
  double work = 0;
  double piece = 0;

  friend cost operator+(const cost& entry, const cost& other) noexcept {
    return {entry.work + other.work, entry.piece + other.piece};
  }
  cost times(double count) const noexcept { return {work * count, piece * count}; }
};

struct costs {
  cost host_link;     // a whole gradient through the link of a host
  cost shard_link;    // one worker's part through the link of a shard
  cost shard_frames;  // of one part, in one direction
  cost shard_sum;     // one worker's part, read and added
  cost shard_step;    // of the optimizer
  cost relay_frames;  // of a whole gradient, at an aggregator
  cost relay_sum;
  cost ring;  // the word of a member on the same host
  double latency = 0;
  double ring_latency = 0;
};

costs costs_of(const setting& combination);

}  // namespace tidegate::sim::scale
