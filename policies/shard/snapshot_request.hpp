// The cuts of checkpoints: at which clock a chunk is to be copied, when that is due, and how a
// chunk begins from a copy. It holds one request per chunk. One thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "policies/model/clock_vector.hpp"
#include "policies/model/rank_progress.hpp"
#include "policies/shard/effects.hpp"
#include "policies/shard/records.hpp"

namespace tidegate::policies::sharding {

struct shard_state;

// What a snapshot of a chunk holds: its version, and where each rank is.
struct cut_state {
  std::uint64_t version = 0;
  std::vector<rank_progress> ranks;
};

class snapshot_request {
 public:
  static constexpr std::uint64_t nothing_gone_by = clock_vector::infinity;

  explicit snapshot_request(shard_state& state) : state_(state) {}

  void add_chunk() { chunks_.emplace_back(); }
  void forget_chunk(std::uint32_t slot) { chunks_[slot] = {}; }

  // Copies every chunk of these tables once (shard_effects::snapshot) when it has all pushes of
  // clocks below `clock`, which under bsp is one version; infinity: when all workers have
  // finished. Takes the place of what was asked for before. Returns nothing_gone_by, or, when
  // under bsp a chunk is past that version already, the highest version; then nothing is
  // copied.
  std::uint64_t cut(std::uint64_t token, std::uint64_t clock,
                    std::span<const std::uint32_t> tables, shard_effects& out);
  // Returns what the last snapshot of a chunk holds, until the next one of it.
  const cut_state& cut_of(std::uint32_t slot) const { return chunks_[slot].taken; }
  // Returns what a chunk has as of now.
  cut_state progress(std::uint32_t slot) const;
  // Begins a chunk that has just been opened with what such a snapshot holds, of as many ranks.
  // The caller has put its arrays in place.
  void restore(std::uint32_t slot, std::uint64_t version, std::span<const rank_progress> ranks);

  // Takes the snapshot that a chunk was asked for, if it can be taken now.
  void take_if_due(chunk_record& chunk, shard_effects& out);

 private:
  struct requested_cut {
    bool waits = false;  // at `clock`
    std::uint64_t clock = 0;
    cut_state taken;
  };

  bool is_due(const chunk_record& chunk) const;

  shard_state& state_;
  std::vector<requested_cut> chunks_;  // by slot
};

}  // namespace tidegate::policies::sharding
