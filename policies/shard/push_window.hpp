// The pushes that are here and not settled, at most `window` clocks of each worker and chunk:
// they are put back into the worker's order, counted once whatever is duplicated, and held
// until their step has been made, and replicated where there is a replica.
//
// A push comes with a handle that the shell chose; no_payload is a skip. Every handle that was
// taken in is released once. One thread. Once warm, nothing allocates.
#pragma once

#include <array>
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

class push_window {
 public:
  explicit push_window(shard_state& state) : state_(state) {}

  void add_chunk(std::uint32_t ranks) { chunks_.emplace_back(ranks); }
  void forget_chunk(std::uint32_t slot) { chunks_[slot] = per_rank<rank_pushes>(0); }

  // shard_core::begin_push(), cancel_push().
  push_admission begin(const frame_tag& tag, std::uint64_t payload_bytes);
  void cancel(const frame_tag& tag);
  // Takes in a push of a chunk, or of each of the table's chunks in these slots (a payload for
  // each, or none), and carries out what follows. The table is known.
  void push(const frame_tag& tag, payload_handle payload, shard_effects& out);
  void push_run(const frame_tag& tag, std::span<const std::uint32_t> slots,
                std::span<const payload_handle> payloads, shard_effects& out);

  // Releases the payload of the push of (rank, clock), which is held (asserted) and is in the
  // parameters or will never be, and answers it with `code`.
  void settle(const chunk_record& chunk, std::uint32_t rank, std::uint64_t clock,
              const frame_tag& base, reply_code code, shard_effects& out);
  // Releases the payload of a push that nobody waits for any more, if it is held; answers
  // nobody.
  void discard(std::uint32_t slot, std::uint32_t rank, std::uint64_t clock, shard_effects& out);
  // Refuses every push of a rank, as the job ends. Payloads that are on their way upstream or
  // to the replica are released when that is answered.
  void close(const chunk_record& chunk, std::uint32_t rank, shard_effects& out);
  // Discards the rank's pushes that have a gap before them, which nobody fills any more: the
  // rank has left, or all members of its aggregator have, which may have died with what was
  // lost.
  void forget_behind_gaps(const job_record& job, std::uint32_t rank, shard_effects& out);
  // Discards pushes of an earlier stay of this rank that are on their way to the replica:
  // nobody waits for them, and their places are needed.
  void orphan(const chunk_record& chunk, std::uint32_t rank, shard_effects& out);
  // Forgets what was arriving from the rank's process before: it will not come.
  void forget_process(std::uint32_t slot, std::uint32_t rank);

  // Appends the pushes of `clock` by ranks [begin, end) to the inputs, ascending in rank, and
  // returns how many those are. Skips have none.
  std::uint32_t list_inputs(std::uint32_t slot, std::uint32_t begin, std::uint32_t end,
                            std::uint64_t clock, shard_effects& out) const;
  // Makes mistakes with the inputs from `first` on; see planted.hpp.
  void plant(const chunk_record& chunk, std::uint32_t first, std::uint64_t clock,
             shard_effects& out);

  // Returns the clock that is expected of a rank next: those below have come, in their order.
  std::uint64_t next(std::uint32_t slot, std::uint32_t rank) const {
    return chunks_[slot].at(rank).next;
  }
  void set_next(std::uint32_t slot, std::uint32_t rank, std::uint64_t clock) {
    if (next(slot, rank) != clock) chunks_[slot].change(rank).next = clock;
  }
  // Returns true if the push is here, or is here and has come in its order.
  bool is_here(std::uint32_t slot, std::uint32_t rank, std::uint64_t clock) const {
    const auto& held = at(slot, rank, clock);
    return held.there && held.clock == clock;
  }
  bool is_held(std::uint32_t slot, std::uint32_t rank, std::uint64_t clock) const;
  // Returns true if any rank's push or skip of the clock is.
  bool is_any_held(std::uint32_t slot, std::uint64_t clock) const;
  // Returns true if anything of the rank is held that no step has been made with.
  bool holds_unapplied(const chunk_record& chunk, std::uint32_t rank) const;
  // Returns true if a push that is held came with a doorbell.
  bool in_place(std::uint32_t slot, std::uint32_t rank, std::uint64_t clock) const {
    return at(slot, rank, clock).in_place;
  }
  // Returns the clock below which pushes of a rank are in the parameters, here or upstream, and
  // at the replica if there is one. A rank that has finished has no bound of its own.
  std::uint64_t settled_below(const chunk_record& chunk, std::uint32_t rank) const;
  // Returns how many pushes are held in all.
  std::uint64_t held() const noexcept { return held_; }

 private:
  struct held_push {
    bool arriving = false;  // its payload has a place and is on its way
    bool there = false;
    bool in_place = false;
    std::uint64_t clock = 0;
    payload_handle payload = no_payload;
    float rate = 1.0F;
  };
  struct rank_pushes {
    std::uint64_t next = 0;                // the clock expected
    std::array<held_push, window> held{};  // by clock modulo window
  };

  // To be changed.
  held_push& place_of(std::uint32_t slot, std::uint32_t rank, std::uint64_t clock) {
    return chunks_[slot].change(rank).held[clock % window];
  }
  const held_push& at(std::uint32_t slot, std::uint32_t rank, std::uint64_t clock) const {
    return chunks_[slot].at(rank).held[clock % window];
  }
  reply_code check(const frame_tag& tag, std::uint64_t payload_bytes,
                   std::uint32_t& slot) const;
  reply_code check_clock(const chunk_record& chunk, const frame_tag& tag) const;
  bool is_retained(const chunk_record& chunk, std::uint32_t rank, std::uint64_t clock) const;
  void take(chunk_record& chunk, const frame_tag& tag, payload_handle payload, bool in_place,
            shard_effects& out);
  bool apply_twice(const chunk_record& chunk, const frame_tag& tag, payload_handle payload,
                   bool in_place);
  void hold(held_push& place, const frame_tag& tag, payload_handle payload, bool in_place);
  void hold_copy(const chunk_record& chunk, const frame_tag& tag, bool in_place);
  void feed_policy(const chunk_record& chunk, std::uint32_t rank);
  void give_back(held_push& held, shard_effects& out);

  shard_state& state_;
  std::vector<per_rank<rank_pushes>> chunks_;  // by slot
  std::uint64_t held_ = 0;
};

}  // namespace tidegate::policies::sharding
