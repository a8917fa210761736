// The processes that hold the chunks of one shard: a chain (chain replication: van Renesse and
// Schneider, OSDI 2004). The first member is the primary, which workers talk to; each member
// leads the next, which follows it. A core of the coordinator: pure, one thread. It has no
// effects; each call returns a change, and the coordinator tells the processes.
//
// All members of a chain are in sync, except perhaps the last, which is being given everything
// by the member before it. Processes that wait to be a replica join the chain at its end, one
// after the other.
//
//   the first dies:       the second is the primary, if it is in sync; else the group is lost
//   the last dies:        the member before it leads nobody
//   a member between:     the member before it leads the member behind it
//
// If a group is lost, no process has what was acknowledged: the job goes back to the last
// checkpoint, or ends.
//
// A view is a number that rises. Each pair of neighbours has the view in which it became a
// pair, so that a death concerns only the neighbours of the dead; a process that belongs to an
// earlier pair is out, and its frames are refused. A push is acknowledged when the whole chain
// has it, so that the coordinator's word decides which process may be promoted.
//
// Where shards move between processes (shard_map), the chain is to consist of the members that
// are wanted. New ones wait behind it until they are in it; members that are not wanted any
// more leave it, one after the other and the primary last, once all that are wanted have
// everything.
//
// A coordinator must know a state() of the chain again after its death. The processes of the
// chain are then awaited, until they, or their successors, have joined.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tidegate::policies {

// Processes of a group have numbers: 0 is `shard-I` of the launcher, then come its replicas
// (replica_index), then the processes of other slots. Which of them is the primary changes. So
// many at most are wanted at once:
inline constexpr std::uint32_t group_size_max = 3;

// A process of a group, in one incarnation.
struct group_member {
  std::uint32_t number = 0;
  std::uint32_t incarnation = 1;

  friend auto operator<=>(const group_member&, const group_member&) = default;
};

// Returns the launcher's number of a replica, `replica-INDEX`: number 1 of each group comes
// first, then number 2. `number` is at least 1.
constexpr std::uint32_t replica_index(std::uint32_t shards, std::uint32_t shard,
                                      std::uint32_t number) noexcept {
  return (number - 1) * shards + shard;
}
constexpr std::uint32_t shard_of_replica(std::uint32_t shards, std::uint32_t index) noexcept {
  return index % shards;
}
constexpr std::uint32_t number_of_replica(std::uint32_t shards, std::uint32_t index) noexcept {
  return 1 + index / shards;
}

class replica_chain {
 public:
  // The members [first, first + count) are to be the chain.
  struct range {
    std::uint32_t first = 0;
    std::uint32_t count = 1;
  };
  explicit replica_chain(std::uint32_t replicas = 0)
      : replica_chain(1 + replicas, {0, 1 + replicas}) {}
  // Makes a chain that begins when all members that are wanted have joined.
  replica_chain(std::uint32_t numbers, range wanted) : members_(numbers), wanted_(wanted) {}

  // A member of the chain, and the view in which it leads the next.
  struct place {
    std::uint32_t member = 0;
    std::uint32_t view = 0;

    friend bool operator==(const place&, const place&) = default;
  };
  // A chain that is_complete(), or lost, as the coordinator records it.
  struct state {
    std::vector<std::uint32_t> incarnations;  // by member: the latest of the chain, or 0
    std::vector<place> chain;                 // empty: lost
    std::uint32_t view = 0;
    std::uint32_t serving_view = 0;
    bool in_sync = false;  // the last member of the chain
    std::vector<group_member> leaving = {};

    friend bool operator==(const state&, const state&) = default;
  };
  // Goes on with a state; all members are wanted, until want().
  explicit replica_chain(const state& before);
  // Returns the present state; asserted: the chain has begun.
  state now() const;
  // Sets the members that are wanted; candidate() and leavers() follow from it.
  void want(range moved) noexcept { wanted_ = moved; }
  bool is_wanted(std::uint32_t member) const noexcept {
    return member >= wanted_.first && member - wanted_.first < wanted_.count;
  }
  bool is_in_chain(std::uint32_t member) const;

  enum class change : std::uint8_t {
    none,
    complete,  // all have joined, for the first time or after they were awaited
    rejoined,  // a new process waits to be a replica: see candidate()
    promoted,  // the second is the primary now
    relinked,  // a member between is gone: two have become neighbours
    cut,       // the last is gone
    lost,      // no process is left that has everything
  };
  // Takes in that a process has joined. Asserted: left() was called for its predecessor.
  change joined(std::uint32_t member, std::uint32_t incarnation, std::string address);
  // `before` is set for relinked and cut: the index in the chain of the member before the gap.
  struct departure {
    change kind = change::none;
    std::uint32_t before = 0;
  };
  // Takes in that a process is gone. Changes nothing if it is neither here nor awaited.
  departure left(std::uint32_t member);
  // Returns the process that waits to be a replica and may be the next; nothing while the chain
  // is not complete, or its last member is not in sync.
  std::optional<std::uint32_t> candidate() const;
  // Appends the candidate, which has been set up, to the chain; it is not in sync.
  void welcome();
  // Takes in that the last member of the chain has everything. Returns false, and changes
  // nothing, if `view` is that of an earlier pair.
  bool in_sync(std::uint32_t view);
  // Returns the members that are not wanted and may be told to leave: nothing is lost with
  // them.
  std::vector<std::uint32_t> leavers() const;
  // Takes in that a member is told to leave. That is not taken back: it is no candidate any
  // more, also when it is wanted again, until another incarnation of it joins.
  void let_leave(std::uint32_t member);
  // Returns the members that have been told to leave and are here.
  std::vector<std::uint32_t> leaving() const;
  bool is_leaving(std::uint32_t member) const {
    const auto& asked = members_.at(member);
    return asked.leaving > 0 && asked.leaving == asked.incarnation;
  }
  // Returns true if two members are neighbours since that view.
  bool is_pair(std::uint32_t view) const;

  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(members_.size()); }
  bool began() const noexcept { return began_; }
  // Returns true once the chain has begun and no member is awaited, until it is lost.
  bool is_complete() const noexcept;
  bool is_lost() const noexcept { return began_ && chain_.empty(); }
  // Returns true if the member was in the chain of a former coordinator, and has not joined
  // since.
  bool is_awaited(std::uint32_t member) const { return members_.at(member).awaited; }
  bool was_here(std::uint32_t member) const { return is_here(member) || is_awaited(member); }
  bool is_here(std::uint32_t member) const { return !members_.at(member).address.empty(); }
  // Returns the latest incarnation that has joined; 0: none yet.
  std::uint32_t incarnation(std::uint32_t member) const {
    return members_.at(member).incarnation;
  }
  std::span<const place> chain() const noexcept { return chain_; }
  std::uint32_t primary() const noexcept { return chain_.empty() ? 0 : chain_.front().member; }
  // Returns true if the last member has everything, as a primary that is alone has.
  bool tail_in_sync() const noexcept { return synced_; }
  // Returns how many replicas have everything.
  std::uint32_t replicas_in_sync() const noexcept;
  // Returns the view in which the primary became it, which workers' frames carry.
  std::uint32_t serving_view() const noexcept { return serving_; }
  // Returns the last view that has begun.
  std::uint32_t view() const noexcept { return view_; }
  const std::string& address(std::uint32_t member) const { return members_.at(member).address; }
  const std::string& primary_address() const { return address(primary()); }

 private:
  struct member_state {
    std::string address;  // empty: not here
    std::uint32_t incarnation = 0;
    std::uint32_t leaving = 0;  // which incarnation; 0: none
    bool awaited = false;
  };
  std::vector<member_state> members_;
  range wanted_;
  std::vector<place> chain_;  // empty: it has not begun, or is lost
  std::uint32_t view_ = 0;    // the last one
  std::uint32_t serving_ = 0;
  bool began_ = false;
  bool synced_ = false;
};

}  // namespace tidegate::policies
