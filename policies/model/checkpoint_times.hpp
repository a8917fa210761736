// Where the time of a checkpoint went, from the begin of its round until its manifest was
// durable. Plain values.
#pragma once

#include <cstdint>

namespace tidegate::policies {

// `count` and `late_ns` are sums over the checkpoints of a job that are durable; the rest is of
// the last.
struct checkpoint_times {
  std::uint64_t count = 0;
  // For so long another one was due, or the job had nothing else to wait for, in sum.
  std::uint64_t late_ns = 0;
  std::uint64_t clock = 0;
  std::uint64_t round_ns = 0;    // in all, with the time until its clock came
  std::uint32_t shard = 0;       // that wrote its part for longest
  std::uint64_t part_ns = 0;     // for so long: the file alone, with its syncs
  std::uint64_t part_bytes = 0;  // of that file
  // The longest of the other shards, and the bytes of that; 0: one writes alone.
  std::uint64_t others_ns = 0;
  std::uint64_t others_bytes = 0;
  std::uint64_t manifest_ns = 0;

  friend bool operator==(const checkpoint_times&, const checkpoint_times&) = default;
};

}  // namespace tidegate::policies
