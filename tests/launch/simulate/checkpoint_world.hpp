// Shards and a coordinator that write checkpoints on a disk that fails, crash, come back and
// look for what they had. The world judges what they find: it knows what was said to be
// durable, and what each element must be at each clock.
//
// A life of the cluster ends with a crash of the machine or of its processes, at any call of
// the disk, also in the middle of finding, verifying and tidying. Processes that nobody ended
// go on writing in the next life. One thread.
#pragma once

#include <cstdint>
#include <string>

namespace tidegate::sim {

struct checkpoint_world_result {
  std::string failure;  // empty: every promise was kept
  std::uint64_t calls = 0;
  std::uint64_t crashes = 0;      // of the machine
  std::uint64_t checkpoints = 0;  // that were durable
  std::uint64_t restored = 0;
  std::uint64_t not_whole = 0;     // checkpoints that were found and not used
  std::uint64_t given_up = 0;      // checkpoints that could not be written
  std::uint64_t from_another = 0;  // restored by another number of shards
};

// The same seed gives the same result.
checkpoint_world_result run_checkpoint_world(std::uint64_t seed);

}  // namespace tidegate::sim
