// The pulls of workers, one of each worker and chunk at a time: those that wait for their
// version, the replies that are under way, and the leases of workers that read in place. A call
// of a function is a pull whose answer is computed, and ends no lease.
//
// A lease keeps a version buffer from being written until the worker's next pull of the chunk,
// or its push of the same or a later clock; a reply does until it is sent. One thread. Once
// warm, nothing allocates.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "policies/model/per_rank.hpp"
#include "policies/protocol/frame_tag.hpp"
#include "policies/protocol/protocol.hpp"
#include "policies/shard/effects.hpp"
#include "policies/shard/records.hpp"

namespace tidegate::policies::sharding {

struct shard_state;

class pull_tracker {
 public:
  explicit pull_tracker(shard_state& state) : state_(state) {}

  void add_chunk(std::uint32_t ranks) { chunks_.emplace_back(ranks); }
  void forget_chunk(std::uint32_t slot) { chunks_[slot] = per_rank<rank_pulls>(0); }

  // Takes in a pull of a chunk, or of each chunk in these slots of a table that is known, and
  // carries out what follows. `is_final`: see pull_request.
  void pull(const frame_tag& tag, bool is_final, shard_effects& out);
  void pull_run(const frame_tag& tag, std::span<const std::uint32_t> slots, bool is_final,
                shard_effects& out);
  // shard_core::begin_call(), cancel_call().
  push_admission begin_call(const frame_tag& tag, std::uint64_t payload_bytes);
  std::uint64_t cancel_call(const frame_tag& tag);
  // Takes in a call of a chunk, and carries out what follows.
  void call(const frame_tag& tag, payload_handle payload, bool is_final, shard_effects& out);
  // Answers the pull that tag.rank made last: with the chunk if `code` is reply_code::ok.
  void answer(chunk_record& chunk, const frame_tag& tag, reply_code code, shard_effects& out);
  // shard_core::sent(), answer_waiting().
  bool sent(std::uint32_t slot, std::uint32_t rank, std::uint32_t version_buffer);
  void answer_waiting(std::uint32_t slot, std::uint32_t rank, shard_effects& out);

  // Ends the lease that the push of a clock ends: the worker has done with the parameters of
  // that clock.
  void pushed(chunk_record& chunk, std::uint32_t rank, std::uint64_t clock);
  void end_lease(chunk_record& chunk, std::uint32_t rank);
  // Forgets the pull and the lease of a rank that has another process, which numbers its pulls
  // anew. Replies that are under way still end with sent().
  void forget_process(chunk_record& chunk, std::uint32_t rank);
  // Releases the calls of processes that were forgotten.
  bool has_orphans() const noexcept { return !orphans_.empty(); }
  void release_orphans(shard_effects& out);
  // Refuses the pull that waits, if any, as the job ends.
  void close(chunk_record& chunk, std::uint32_t rank, shard_effects& out);
  // Returns the number of a rank's last pull of a chunk.
  std::uint64_t request_of(std::uint32_t slot, std::uint32_t rank) const {
    return chunks_[slot].at(rank).request;
  }

 private:
  struct rank_pulls {
    bool pulling = false;
    bool in_place = false;      // of the last pull
    bool leased = false;        // reads lease.version_buffer, since it pulled at `lease_clock`
    bool call_arrives = false;  // its payload has a place and is on its way
    std::uint8_t sending = 0;
    bool answer_waits = false;       // for the end of a reply under way
    std::uint64_t waits_with = 0;    // the version that was the answer then
    std::uint64_t clock = 0;         // of the last pull
    std::uint64_t request = 0;       // of the last pull
    std::uint64_t call_request = 0;  // of the last call that has come, perhaps not yet arrived
    std::uint64_t lease_clock = 0;
    shard_effects::version_at lease;
    payload_handle call = no_payload;  // that is not answered; no_payload: a pull
  };

  bool begin(chunk_record& chunk, const frame_tag& tag, bool in_place, reply_code& code);
  bool take_call(chunk_record& chunk, const frame_tag& tag, payload_handle payload,
                 reply_code& code);
  void answer_call(chunk_record& chunk, const frame_tag& tag, reply_code code,
                   shard_effects& out);
  void park(rank_pulls& last, std::uint64_t clock, std::uint64_t request);
  void go_on(std::uint32_t slot, const frame_tag& tag, bool is_final, bool begun,
             reply_code code, shard_effects& out);
  void forget_call(rank_pulls& last);

  shard_state& state_;
  std::vector<per_rank<rank_pulls>> chunks_;  // by slot
  std::vector<payload_handle> orphans_;       // of calls that nobody waits for any more
};

}  // namespace tidegate::policies::sharding
