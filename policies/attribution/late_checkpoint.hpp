// Says whether the checkpoints of a job come late for a slow disk, and whose that is: parts are
// written beside the training, so nobody is held up by one, but those that are due wait for the
// one under way, and a job that has nothing else to do waits for its last. Pure, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "policies/attribution/attribution.hpp"

namespace tidegate::policies {

struct late_checkpoint {
  enum class writer : std::uint8_t {
    shard,        // it took twice as long as the others, and twice as long for a byte
    all_shards,   // they write alike, or one has more to write
    coordinator,  // its manifest did
  };
  writer slow = writer::shard;
  checkpoint_account worst;  // of those that came late
  double late_seconds = 0;   // in all
};

// Returns nothing where checkpoints were not late for held_up_least of the time, or for another
// reason than that something was written slowly.
std::optional<late_checkpoint> late_checkpoint_in(std::span<const job_period> periods);

}  // namespace tidegate::policies
