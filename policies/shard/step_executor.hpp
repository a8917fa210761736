// Carries out what the consistency policies of chunks decide: steps of the optimizer, answers
// to pulls, and what a relay does in place of steps. Decisions are made by a call of a policy
// with decisions(), and carried out before the next such call.
//
// One thread. Once warm, nothing allocates.
#pragma once

#include <cstdint>
#include <optional>

#include "policies/consistency/consistency.hpp"
#include "policies/protocol/frame_tag.hpp"
#include "policies/protocol/protocol.hpp"
#include "policies/shard/effects.hpp"
#include "policies/shard/records.hpp"

namespace tidegate::policies::sharding {

struct shard_state;

class step_executor {
 public:
  explicit step_executor(shard_state& state) : state_(state) {}

  // Returns the decisions that are not carried out yet.
  policy_decisions& decisions() noexcept { return decisions_; }
  // Carries them out; all are about `chunk`. `base`: of the frame that led to them, which the
  // tags of answers begin with. A checkpoint of the chunk is taken where it is due.
  void carry_out(chunk_record& chunk, const frame_tag& base, shard_effects& out);
  // What a step is made of: inputs [first, first + count) of the effects, all of this clock.
  struct step {
    std::uint64_t clock = 0;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    std::uint32_t contributors = 1;
    float rate = 1.0F;                             // of shard_effects::apply
    std::optional<double> squares = std::nullopt;  // of shard_effects::apply
  };
  // Makes the next version; without inputs it is the same.
  static void make_step(chunk_record& chunk, const step& next, shard_effects& out);

 private:
  void apply(chunk_record& chunk, const policy_decision& decision, const frame_tag& base,
             shard_effects& out);
  void answer(chunk_record& chunk, const policy_decision& decision, const frame_tag& base,
              shard_effects& out);

  shard_state& state_;
  policy_decisions decisions_;
};

}  // namespace tidegate::policies::sharding
