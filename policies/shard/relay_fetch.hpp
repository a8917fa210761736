// What an aggregator does for its members in place of steps: it hands sums of clocks on
// upstream, settles pushes when those are answered, and receives the parameters that members
// are answered with. At most one pull of a chunk is under way upstream.
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

  // Takes in that upstream has applied the sum of `clock` (code ok) or refused it, and answers
  // the members' pushes. A second answer changes nothing. `answer_follows`: pulled() is called
  // next, and its answers may carry these, too.
  void handed_on(std::uint32_t slot, std::uint64_t clock, reply_code code, bool answer_follows,
                 shard_effects& out);
  // Returns the pull that is asked for upstream, or null; valid until pulled().
  const pull_request* asked(std::uint32_t slot) const;
  // Returns a version buffer that the parameters may be received into. Exactly one of
  // cancel_pulled and pulled follows; a refusal needs no version buffer.
  std::uint32_t begin_pulled(std::uint32_t slot);
  // Takes begin_pulled() back: the parameters will not come.
  void cancel_pulled(std::uint32_t slot);
  // Takes in upstream's answer: the parameters are in the version buffer of begin_pulled(), or
  // the pull was refused with `code`. Answers the members that it allows.
  void pulled(std::uint32_t slot, reply_code code, std::uint64_t version,
              std::uint64_t min_clock, shard_effects& out);

  // Carry out decisions of the policy: hand the sum of a clock on, and settle its pushes with
  // what upstream answered.
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
