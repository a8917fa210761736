// How a replica follows: it makes the steps that its primary hands on, takes chunks over as
// they are, and becomes the primary when it is promoted. It refuses workers' frames, as its
// epoch is 0. It may lead another replica: then it hands the steps on, and has followed when
// that one has.
//
// One thread. Once warm, steps allocate nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "policies/protocol/frame_tag.hpp"
#include "policies/shard/chunk_replication.hpp"
#include "policies/shard/effects.hpp"
#include "policies/shard/records.hpp"

namespace tidegate::policies::sharding {

struct shard_state;

struct followed_step {
  std::uint64_t job = 0;
  std::uint32_t table = 0;
  std::uint32_t chunk = 0;
  std::uint64_t version = 0;  // that it makes
  std::uint32_t rank = 0;     // or all_ranks
  std::uint64_t clock = 0;
  std::uint32_t contributors = 1;                // of shard_effects::apply
  float rate = 1.0F;                             // of shard_effects::apply
  std::optional<double> squares = std::nullopt;  // of shard_effects::apply
};

class chunk_follower {
 public:
  explicit chunk_follower(shard_state& state) : state_(state) {}

  void add_chunk() { chunks_.emplace_back(); }
  void forget_chunk(std::uint32_t slot) { chunks_[slot] = {}; }

  // Judge a step, or a chunk that is handed over, whose payload has no place yet, as
  // shard_core::begin_push() does: refuse with code ok means that it was made before. After a
  // take exactly one of follow(), or follow_seed(), and cancel() follows. A chunk goes to
  // version buffers seed_buffer and kept_buffer(i).
  push_admission begin_step(const followed_step& step, std::uint64_t payload_bytes);
  push_admission begin_seed(const followed_step& step);
  void cancel(const followed_step& step);
  // Makes the step, releases `payload` (no_payload for a skip), and says so with a followed
  // effect when all behind have made it. A step that is not the next one is not made.
  void follow(const followed_step& step, payload_handle payload, shard_effects& out);
  // Takes the chunk over as the primary had it. The caller has put the arrays into the version
  // buffers.
  void follow_seed(const followed_step& step, const seed_state& state, shard_effects& out);
  // Notes that the rank has finished, unless it has joined again since the stay that began with
  // clock `since`.
  void follow_farewell(std::uint64_t token, std::uint32_t rank, std::uint64_t since);
  // Forgets what was on its way here, as another process is to be followed; chunks may be
  // handed over once more.
  void follow_another();
  // Makes this the primary of the job, for workers' frames of this epoch.
  void promote(std::uint64_t token, std::uint64_t epoch, shard_effects& out);

 private:
  struct followed_chunk {
    bool stepping = false;  // the payload of a step is on its way
    bool has_seed = false;  // it was handed over
  };

  void run_ahead(chunk_record& chunk);
  bool find(const followed_step& step, std::uint32_t& slot) const;
  void make_step(chunk_record& chunk, const followed_step& step, payload_handle payload,
                 shard_effects& out);

  shard_state& state_;
  std::vector<followed_chunk> chunks_;  // by slot
};

}  // namespace tidegate::policies::sharding
