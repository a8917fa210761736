// All that replication_core knows, divided along who owns it; the parts reach each other
// through this struct.
#pragma once

#include <cstdint>
#include <span>

#include "policies/shard/chain_links.hpp"
#include "policies/shard/core.hpp"
#include "policies/shard/ingress_core.hpp"
#include "policies/shard/replication_shell.hpp"
#include "policies/shard/step_feeder.hpp"
#include "policies/shard/step_receiver.hpp"
#include "runtime/base/frame_header.hpp"

namespace tidegate::policies::sharding {

struct chain_state {
  chain_state(replication_shell& asked, shard_core& core, ingress_core& beside)
      : shell(asked), shard(core), ingress(beside) {}
  chain_state(const chain_state&) = delete;
  chain_state& operator=(const chain_state&) = delete;

  // Carries out what has been decided for those who were the neighbours until now.
  void carry_out_all();
  // Returns the header of a frame about a slot's chunk.
  runtime::frame_header header_for(runtime::frame_kind kind, std::uint32_t view,
                                   std::uint32_t slot) const;
  // Returns the slots that a frame about several chunks speaks of; none for what is not ours.
  std::span<const std::uint32_t> run_of(const runtime::frame_header& header) const;
  // Returns the name of a rank's farewell in its present stay.
  farewell_name farewell_of(std::uint64_t job, std::uint32_t rank) const {
    return {.job = job, .rank = rank, .since = shard.registry().first_clock(job, rank)};
  }
  // Returns true if two effects are about chunks side by side, and the same version.
  template <class Effect>
  bool are_adjacent(const Effect& effect, const Effect& next) const {
    const auto& chunks = shard.registry();
    return chunks.name_of(effect.slot).table == chunks.name_of(next.slot).table &&
           chunks.index_of(effect.slot) + 1 == chunks.index_of(next.slot) &&
           effect.version == next.version;
  }

  replication_shell& shell;
  shard_core& shard;
  ingress_core& ingress;
  step_feeder feeder{*this};
  step_receiver receiver{*this};
  chain_links links{*this};
};

}  // namespace tidegate::policies::sharding
