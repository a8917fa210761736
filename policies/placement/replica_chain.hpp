// Who holds the chunks of one shard: a chain of processes (chain replication: van Renesse and
// Schneider, OSDI 2004). Its first is the primary, which workers talk to; each leads the next
// one, which follows it. What the coordinator knows and decides of them; pure.
//
// All of a chain are in sync, but perhaps its last: that is being given everything by the one
// before it. Those who wait to be a replica come behind it one after the other.
//
//   the first dies:       the second is the primary, if it is in sync; else the group is lost
//   the last dies:        the one before it leads nobody
//   one between dies:     the one before it leads the one behind it
//
// lost: nobody has what was acknowledged; back to the last checkpoint, or the end.
//
// A view is a number that rises. Each pair of neighbours has the one of when it became a pair,
// so that a death concerns nobody but the dead one's neighbours; whoever belongs to an earlier
// pair is out, and what it sends is refused. A push is acknowledged when the whole chain has
// it, so that the coordinator's word decides who may be promoted.
//
// Where shards move between processes (shard_map), the chain is to be of those that are
// wanted. Others wait behind it until they are in it; those that are not wanted any more leave
// it, one after the other and the primary last, once all that are wanted have everything.
//
// What a coordinator must know again after its death is a state() of it; the processes of the
// chain are then awaited, until they, or their successors, have joined.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tidegate::policies {

// Processes of a group by their number: 0 is `shard-I` of the launcher, then its replicas
// (replica_index), then those of other slots. Which of them is the primary changes. So many at
// most are wanted at once:
inline constexpr std::uint32_t group_size_max = 3;

// Which process, and in which of its lives.
struct group_member {
  std::uint32_t number = 0;
  std::uint32_t incarnation = 1;

  friend auto operator<=>(const group_member&, const group_member&) = default;
};

// The launcher's number of a replica, `replica-INDEX`: first those that are number 1 of each
// group, then those that are number 2. `number` is at least 1.
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
  // Those from `first` on are to be its chain.
  struct range {
    std::uint32_t first = 0;
    std::uint32_t count = 1;
  };
  explicit replica_chain(std::uint32_t replicas = 0)
      : replica_chain(1 + replicas, {0, 1 + replicas}) {}
  // It begins when all that are wanted have joined.
  replica_chain(std::uint32_t numbers, range wanted) : members_(numbers), wanted_(wanted) {}

  // One of the chain, and since when it leads whom it leads.
  struct place {
    std::uint32_t member = 0;
    std::uint32_t view = 0;

    friend bool operator==(const place&, const place&) = default;
  };
  // Of one that is_complete(), or lost.
  struct state {
    std::vector<std::uint32_t> incarnations;  // by member: the latest of the chain, or 0
    std::vector<place> chain;                 // empty: lost
    std::uint32_t view = 0;
    std::uint32_t serving_view = 0;
    bool in_sync = false;  // the last of them
    std::vector<group_member> leaving = {};

    friend bool operator==(const state&, const state&) = default;
  };
  // All of them are wanted, until want().
  explicit replica_chain(const state& before);
  state now() const;
  void want(range moved) noexcept { wanted_ = moved; }
  bool is_wanted(std::uint32_t member) const noexcept {
    return member >= wanted_.first && member - wanted_.first < wanted_.count;
  }
  bool is_in_chain(std::uint32_t member) const;

  enum class change : std::uint8_t {
    none,
    complete,  // all have joined, for the first time or as those who were awaited
    rejoined,  // a new process waits to be a replica: welcome() it
    promoted,  // the second is the primary now
    relinked,  // one between is gone: two have become neighbours
    cut,       // the last is gone
    lost,      // nobody is left who has everything
  };
  // A process has joined; one that is there already under that number has died.
  change joined(std::uint32_t member, std::uint32_t incarnation, std::string address);
  // `before`: after relinked and cut, where in the chain the one before it is.
  struct departure {
    change kind = change::none;
    std::uint32_t before = 0;
  };
  departure left(std::uint32_t member);
  // Who waits to be a replica and may be the next one: welcome() it when it has been set up,
  // and it is the last of the chain, not in sync.
  std::optional<std::uint32_t> candidate() const;
  void welcome();
  // The last of the chain has everything. False: that is of an earlier view.
  bool in_sync(std::uint32_t view);
  // Not wanted, and nothing is lost with them: those may be told to leave.
  std::vector<std::uint32_t> leavers() const;
  // It is told so, and that is not taken back: it counts no more, also when it is wanted again,
  // until another incarnation of it joins.
  void let_leave(std::uint32_t member);
  // Those who have been told, and are here.
  std::vector<std::uint32_t> leaving() const;
  bool is_leaving(std::uint32_t member) const {
    const auto& asked = members_.at(member);
    return asked.leaving > 0 && asked.leaving == asked.incarnation;
  }
  // Two are neighbours since that view.
  bool is_pair(std::uint32_t view) const;

  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(members_.size()); }
  bool began() const noexcept { return began_; }
  // Once it is, it stays so until it is lost, and is not again.
  bool is_complete() const noexcept;
  bool is_lost() const noexcept { return began_ && chain_.empty(); }
  // In the chain of a former coordinator, and not heard of since.
  bool is_awaited(std::uint32_t member) const { return members_.at(member).awaited; }
  bool was_here(std::uint32_t member) const { return is_here(member) || is_awaited(member); }
  bool is_here(std::uint32_t member) const { return !members_.at(member).address.empty(); }
  // The latest that has joined; 0: none yet.
  std::uint32_t incarnation(std::uint32_t member) const {
    return members_.at(member).incarnation;
  }
  std::span<const place> chain() const noexcept { return chain_; }
  std::uint32_t primary() const noexcept { return chain_.empty() ? 0 : chain_.front().member; }
  // Whether the last one has everything; so has a primary that is alone.
  bool tail_in_sync() const noexcept { return synced_; }
  // That would not be lost with the primary.
  std::uint32_t replicas_in_sync() const noexcept;
  // Since when this primary is it, which workers' frames carry.
  std::uint32_t serving_view() const noexcept { return serving_; }
  // The last that has begun.
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
