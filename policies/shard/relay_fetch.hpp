// What the half of an aggregator that faces its members does in place of steps: hands sums of
// clocks on upstream, settles pushes when those are answered, and receives the parameters that
// members are answered with. At most one pull of a chunk is under way upstream.
//
// One thread. Once warm, nothing allocates.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "policies/consistency/consistency.hpp"
#include "policies/protocol/frame_tag.hpp"
#include "policies/protocol/protocol.hpp"
#include "policies/shard/effects.hpp"
#include "policies/shard/records.hpp"

namespace tidegate::policies::sharding {

struct shard_state;

class relay_fetch {
 public:
  explicit relay_fetch(shard_state& state) : state_(state) {}

  void add_chunk() { chunks_.emplace_back(); }
  void forget_chunk(std::uint32_t slot) { chunks_[slot] = {}; }

  // Upstream has applied the sum of `clock`, or refused it; an answer that comes twice counts
  // once. `answer_follows`: pulled() is next, and its answers may carry these, too.
  void handed_on(std::uint32_t slot, std::uint64_t clock, reply_code code, bool answer_follows,
                 shard_effects& out);
  // Returns what to pull upstream; null when nothing is asked for.
  const pull_request* asked(std::uint32_t slot) const;
  // Returns a version buffer that the parameters may be received into. Exactly one of
  // cancel_pulled and pulled follows; a refusal needs no version buffer.
  std::uint32_t begin_pulled(std::uint32_t slot);
  void cancel_pulled(std::uint32_t slot);
  void pulled(std::uint32_t slot, reply_code code, std::uint64_t version,
              std::uint64_t min_clock, shard_effects& out);

  // The policy hands the sum of a clock on, or settles it with the answer of upstream.
  void hand_on(const chunk_record& chunk, std::uint64_t clock, shard_effects& out);
  void settle(const chunk_record& chunk, std::uint64_t clock, const frame_tag& base,
              shard_effects& out);
  // Returns what upstream said to the last pull.
  reply_code refused_with(std::uint32_t slot) const { return chunks_[slot].refused; }

 private:
  struct fetched_chunk {
    std::uint32_t filling = no_version_buffer;  // that is received into
    bool received = false;                      // there is a version
    reply_code refused = reply_code::ok;        // what upstream said to a pull
    std::array<reply_code, window> codes{};     // what upstream said to clocks, by clock
  };

  void let_go(const chunk_record& chunk, shard_effects& out);

  shard_state& state_;
  std::vector<fetched_chunk> chunks_;  // by slot
};

}  // namespace tidegate::policies::sharding
