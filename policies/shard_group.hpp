// Who holds the chunks of one shard: a primary, which workers talk to, and perhaps a replica,
// another process that takes its place. What the coordinator knows and decides of them; pure.
//
//   together: primary and replica have joined, the replica has all   -> either may die
//   alone:    the primary only                                       -> no one may die
//   lost:     nobody has what was acknowledged: back to the last checkpoint, or the end
//
// A view is one such pair. Views rise; whoever belongs to an earlier one is out, and what it
// sends is refused. A push is acknowledged when the replica of the view has it, so that the
// coordinator's word decides who may be promoted: only a replica that was in sync in this view.
//
// What a coordinator must know again after its death is a state() of it; the processes of the
// view are then awaited, until they, or their successors, have joined.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace tidegate::policies {

// Processes of a group by their number: 0 is `shard-I` of the launcher, 1 its `replica-I`.
// Which of them is the primary changes.
inline constexpr std::uint32_t group_size_max = 2;

// Which process, and in which of its lives.
struct group_member {
  std::uint32_t number = 0;
  std::uint32_t incarnation = 1;
};

class shard_group {
 public:
  explicit shard_group(std::uint32_t replicas = 0) : size_(1 + replicas) {}

  // Of one that is_complete().
  struct state {
    std::array<std::uint32_t, group_size_max> incarnations{};  // the latest of a view
    std::uint32_t primary = 0;
    std::uint32_t view = 0;
    std::uint32_t serving_view = 0;
    bool has_replica = false;
    bool in_sync = false;
    bool is_lost = false;

    friend bool operator==(const state&, const state&) = default;
  };
  // Of a group of two.
  explicit shard_group(const state& before);
  state now() const;

  enum class change : std::uint8_t {
    none,
    complete,  // all have joined, for the first time or as those who were awaited
    rejoined,  // a new process is to be made the replica: welcome() it
    promoted,  // the replica is the primary now, alone
    alone,     // the replica is gone
    lost,      // nobody is left
  };
  // A process has joined; one that is there already under that number has died.
  change joined(std::uint32_t member, std::uint32_t incarnation, std::string address);
  change left(std::uint32_t member);
  // The new process has been set up: a view with it begins; not in sync.
  void welcome();
  // The replica of this view has everything. False: of an earlier one.
  bool in_sync(std::uint32_t view);

  std::uint32_t size() const noexcept { return size_; }
  bool began() const noexcept { return began_; }
  // Once it is, it stays so until it is lost, and is not again.
  bool is_complete() const noexcept { return began_ && !lost_ && !awaited_[0] && !awaited_[1]; }
  bool is_lost() const noexcept { return lost_; }
  // In the view of a former coordinator, and not heard of since.
  bool is_awaited(std::uint32_t member) const { return awaited_.at(member); }
  bool was_here(std::uint32_t member) const { return is_here(member) || is_awaited(member); }
  bool is_here(std::uint32_t member) const { return !addresses_.at(member).empty(); }
  // The latest that has joined; 0: none yet.
  std::uint32_t incarnation(std::uint32_t member) const { return incarnations_.at(member); }
  std::uint32_t primary() const noexcept { return primary_; }
  std::uint32_t other() const noexcept { return 1 - primary_; }
  bool has_replica() const noexcept { return began_ && size_ > 1 && replica_; }
  // The other process is here, and not in the view yet: welcome() it.
  bool has_candidate() const {
    return is_complete() && size_ > 1 && !replica_ && is_here(other());
  }
  bool replica_in_sync() const noexcept { return has_replica() && synced_; }
  // Of the pair, and of the time when this primary became it, which workers' frames carry.
  std::uint32_t view() const noexcept { return view_; }
  std::uint32_t serving_view() const noexcept { return serving_; }
  const std::string& address(std::uint32_t member) const { return addresses_.at(member); }
  const std::string& primary_address() const { return addresses_.at(primary_); }

 private:
  std::uint32_t size_;
  std::array<std::string, group_size_max> addresses_;  // empty: not here
  std::array<std::uint32_t, group_size_max> incarnations_{};
  std::array<bool, group_size_max> awaited_{};
  std::uint32_t primary_ = 0;
  std::uint32_t view_ = 0;
  std::uint32_t serving_ = 0;
  bool began_ = false;
  bool replica_ = false;  // in this view
  bool synced_ = false;
  bool lost_ = false;
};

}  // namespace tidegate::policies
