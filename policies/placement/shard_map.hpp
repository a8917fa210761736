// Which processes have which shards, where there are more shards than processes
// (cluster.max_shards) so that a shard can move, with all its chunks, while jobs run. Pure; one
// thread.
//
// A slot is what the launcher starts together: the process `shard-Q` and its replicas. Each
// shard is to be in one slot; there are as many slots as shards at most. A process has a member
// of the group of each shard of its slot. Members of a group are numbered from the slot of the
// shard's own number on, slot by slot: where nothing moves they are 0 to `replicas`.
#pragma once

#include <cstdint>
#include <vector>

#include "policies/model/process_name.hpp"
#include "policies/placement/replica_chain.hpp"

namespace tidegate::policies {

class shard_map {
 public:
  // A process: its slot, and its place in the slot, 0 for `shard-Q`.
  struct process {
    std::uint32_t slot = 0;
    std::uint32_t place = 0;

    friend auto operator<=>(const process&, const process&) = default;
  };

  // Puts shards in turn into the first `slots` slots, 1 to `shards` (asserted).
  shard_map(std::uint32_t shards, std::uint32_t replicas, std::uint32_t slots);
  // Puts shards into the slots that they were in. Returns false, and changes nothing, if that
  // cannot have been.
  bool go_on(std::uint32_t slots, const std::vector<std::uint32_t>& slot_of);

  // Spreads shards over the first `slots` slots, 1 to shards() (asserted). Moves the fewest
  // shards after which all slots have the same number of them, or one more. Returns the shards
  // that move, ascending.
  std::vector<std::uint32_t> scale(std::uint32_t slots);

  std::uint32_t wanted() const noexcept { return wanted_; }
  std::uint32_t shards() const noexcept { return static_cast<std::uint32_t>(slot_of_.size()); }
  const std::vector<std::uint32_t>& slot_of() const noexcept { return slot_of_; }
  // Returns how many member numbers each group has.
  std::uint32_t members() const noexcept { return shards() * each_; }
  replica_chain::range wanted_of(std::uint32_t shard) const;
  process process_of(std::uint32_t shard, std::uint32_t member) const;
  std::uint32_t member_of(std::uint32_t shard, process hosted) const;
  bool has(process hosted) const noexcept {
    return hosted.slot < shards() && hosted.place < each_;
  }

 private:
  std::vector<std::uint32_t> slot_of_;  // by shard
  std::uint32_t each_ = 1;              // processes of a slot
  std::uint32_t wanted_ = 0;
};

// Return the launcher's name of a process, and the process of such a name (of a shard or a
// replica). Where nothing moves, the slot is the shard, and the place the member's number.
process_name name_of(shard_map::process process, std::uint32_t shards);
shard_map::process slot_process_of(const process_name& name, std::uint32_t shards);
// Returns the names of the processes of so many slots, in the order in which they are started.
std::vector<process_name> processes_of(std::uint32_t slots, std::uint32_t shards,
                                       std::uint32_t replicas);

}  // namespace tidegate::policies
