// What a shard core decides, to be carried out by its shell. Plain values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "policies/model/kept_versions.hpp"
#include "policies/protocol/frame_tag.hpp"
#include "policies/protocol/protocol.hpp"

namespace tidegate::policies {

// The effects of calls about one table, or about one job as a whole. The shell carries out the
// effects of one `list` in their order. It may interleave the lists of several tables
// (shard_queue), but carries out all of a job's before and after a call about the job as a
// whole. No effect waits for a disk. A payload or version buffer that an effect names stays
// readable until a later effect releases or overwrites it.
struct shard_effects {
  // Makes an optimizer step on the chunk in `slot` with inputs [first, first + count),
  // ascending in rank: reads the parameters in version buffer `from` and writes them to version
  // buffer `to`, which may be the same. It comes before every answer, release, snapshot, seed,
  // replicate and followed that is about the version it makes; no reply and no worker reads
  // `to` by then.
  struct apply {
    std::uint32_t slot = 0;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::uint32_t contributors = 1;  // a mean is over so many
    bool keeps_sum = false;          // the sum of `clock` is kept for a later replicate
    std::uint64_t clock = 0;         // of what is applied
    float rate = 1.0F;               // of the first input; multiplies the learning rate
    // Of the whole gradient, where the step has waited for its norm.
    std::optional<double> squares = std::nullopt;
  };
  // Measures the gradient of a step that is to come: the sum of the squares of the reduced
  // inputs [first, first + count), 0 without inputs; NaN counts as infinity. The shell tells
  // every member of the job (frame norm_part), and again whom tell_norm_part names. The apply
  // of the clock comes after the norm of the whole gradient has.
  struct measure {
    std::uint32_t slot = 0;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    std::uint32_t contributors = 1;  // as in apply
    std::uint64_t clock = 0;
  };
  // Tells the process of the tag what the last measure of the slot, of tag.clock, has found; 0
  // if the chunk `is_empty` in that clock. `again`: because of a push or pull that has come
  // again.
  struct tell_norm_part {
    frame_tag tag;
    std::uint32_t slot = 0;
    bool again = false;
    bool is_empty = false;
  };
  // Tells the process of the tag the norm with which the step of tag.clock was made.
  struct tell_norm {
    frame_tag tag;
    double squares = 0.0;
  };
  // Gives the payload back to the shell. It comes after the last effect that reads the payload,
  // and before an acknowledgement of its push that is ok.
  struct release {
    payload_handle payload = no_payload;
  };
  // Answers a push, a skip or a worker's farewell (tag.chunk is whole_table): ok if it has been
  // applied, else why it is refused. An ok comes after the apply, or at an aggregator after
  // upstream's ok, and where there is a replica after its answer to replicate or
  // replicate_farewell.
  struct acknowledge {
    frame_tag tag;
    reply_code code = reply_code::ok;
  };
  // Not an effect: a version of a chunk, and the version buffer in which it lies.
  struct version_at {
    std::uint32_t version_buffer = 0;
    std::uint64_t version = 0;
    std::uint64_t min_clock = 0;  // every worker's updates of clocks below this are in it

    friend bool operator==(const version_at&, const version_at&) = default;
  };
  // Answers a pull, or a call: sends the parameters of `slot` as they are in
  // where.version_buffer if `code` is ok, or what the function that `call` names makes of them;
  // else a refusal. It comes after the apply that made the version. After an ok
  // the shell calls shard_core::sent() once, when the reply has left the version buffer or
  // never will; until then no apply writes there. A refusal is not followed by sent().
  struct reply {
    frame_tag tag;
    reply_code code = reply_code::ok;
    std::uint32_t slot = 0;
    version_at where;
    bool applied = false;  // acknowledges the push of the clock before, too
    payload_handle call = no_payload;
  };
  // Answers a doorbell's push or skip for `count` chunks, after what acknowledge comes after.
  // tag.chunk is the index of the first one among the table's chunks here, or whole_table for a
  // refusal of all (count 0).
  struct doorbell_acknowledge {
    frame_tag tag;
    std::uint32_t count = 0;
    reply_code code = reply_code::ok;
  };
  // Answers a doorbell's pull for `count` chunks, tagged likewise, after every apply that made
  // a version of them. After an ok the worker reads where.version_buffer in place, and no apply
  // writes there before its next pull, or its push of the same or a later clock. sent() is not
  // called.
  struct doorbell_reply {
    frame_tag tag;
    std::uint32_t count = 0;
    reply_code code = reply_code::ok;
    version_at where;
    bool applied = false;  // acknowledges the push of the clock before, too
  };
  // Lets an aggregator send the sum of inputs [first, first + count) upstream, or a skip
  // without inputs. relay().handed_on() is called when upstream has answered; the payloads are
  // released and the pushes acknowledged as ok only after that.
  struct hand_on {
    std::uint32_t slot = 0;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    std::uint64_t clock = 0;
  };
  // Lets an aggregator pull upstream as relay().asked(slot) says, unless the hand_on before it
  // took the pull along. relay().pulled() is called when upstream has answered; no other ask
  // about the slot comes before that.
  struct ask {
    std::uint32_t slot = 0;
  };
  // Copies the chunk for a checkpoint: the parameters in this version buffer, the optimizer's
  // state, and what snapshots().cut_of(slot) returns. It comes after the apply that made the
  // version and before the next one of the slot, which changes the optimizer's state in place:
  // the copy must be complete when the effect has been carried out, and be written later.
  struct snapshot {
    std::uint32_t slot = 0;
    std::uint32_t version_buffer = 0;
  };
  // Hands a step to the replica: its gradient is `payload`, or the sum that was kept for
  // `clock` if that is no_payload, or none if `skips`. It comes after the apply of the step.
  // The shell calls replication().replicated() when the replica has made it; the next replicate
  // of the slot, the release of `payload` and the step's acknowledgements as ok come after
  // that.
  struct replicate {
    std::uint32_t slot = 0;
    std::uint64_t version = 0;  // that the step makes
    std::uint32_t rank = 0;     // whose push it was made with, or all_ranks
    std::uint64_t clock = 0;
    std::uint32_t contributors = 1;                // as in apply
    float rate = 1.0F;                             // as in apply
    std::optional<double> squares = std::nullopt;  // as in apply
    bool skips = false;
    payload_handle payload = no_payload;
  };
  // Hands the chunk to the replica as it is: the parameters in `version_buffer`, the
  // optimizer's state, the kept versions and what replication().seed_of(slot) returns. As with
  // snapshot, the copy must be complete before the next apply of the slot. The shell calls
  // replication().seeded() when the replica has it; a replicate of the slot comes after that.
  // `kept`: the version buffers of the versions before, the newest first; unused ones are
  // no_version_buffer.
  struct seed {
    std::uint32_t slot = 0;
    std::uint32_t version_buffer = 0;
    std::array<std::uint32_t, versions_kept_max> kept{};
  };
  // Tells the replica that this worker has finished. It comes after all effects of the worker's
  // pushes that were due. The shell calls replication().farewell_replicated() when the replica
  // has answered; the worker's farewell is acknowledged after that.
  struct replicate_farewell {
    std::uint64_t job = 0;
    std::uint32_t rank = 0;
  };
  // Lets a replica tell the process before it in the chain that this version is here, made by a
  // step that all processes behind have made, too, or taken over as a seed. It comes after the
  // apply of the step, and after replicated() where this process leads a replica. It may come
  // again for a version that was made before.
  struct followed {
    std::uint32_t slot = 0;
    std::uint64_t version = 0;
  };
  // Not an effect: one gradient of an apply or a hand_on.
  struct input {
    std::uint32_t rank = 0;
    payload_handle payload = no_payload;
    float rate = 1.0F;  // of its push; see apply
  };

  std::vector<std::variant<apply, release, acknowledge, reply, doorbell_acknowledge,
                           doorbell_reply, hand_on, ask, snapshot, replicate, seed,
                           replicate_farewell, followed, measure, tell_norm_part, tell_norm>>
      list;
  std::vector<input> inputs;  // that `first` and `count` of the effects in `list` speak of

  void clear() {
    list.clear();
    inputs.clear();
  }
};

// A chunk of a table that lies on this shard, and the slot that the core gave it.
struct owned_chunk {
  std::uint32_t chunk = 0;
  std::uint32_t slot = 0;
  std::uint64_t first = 0;  // element of the table
  std::uint64_t elements = 0;

  friend bool operator==(const owned_chunk&, const owned_chunk&) = default;
};

// The answer to a payload that is about to arrive; see shard_core::begin_push().
struct push_admission {
  enum class verdict : std::uint8_t { take, drop, refuse };
  verdict kind = verdict::refuse;
  reply_code code = reply_code::ok;
};

}  // namespace tidegate::policies
