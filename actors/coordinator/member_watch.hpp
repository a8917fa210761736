// The members of the cluster and, where shards move, the processes that they are in, as the
// coordinator sees them over control connections: present, absent since their connection broke,
// or lost, because their end was seen or they have been absent for too long. The shell says who
// has joined and whose connection or process has ended, and hears who is lost. One thread, the
// port's.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "actors/coordinator/control_members.hpp"
#include "actors/coordinator/control_port.hpp"
#include "policies/model/process_name.hpp"
#include "policies/placement/shard_map.hpp"

namespace tidegate::actors {

struct member_watch_options {
  std::uint32_t shards = 0;         // of the cluster
  bool moves_shards = false;        // members are in processes of slots
  std::int64_t absent_most_ns = 0;  // until a member that has no connection counts as dead
};

class member_watch {
 public:
  using slot_process = policies::shard_map::process;

  class owner {
   public:
    virtual ~owner() = default;
    // A member no more. This may lead to other calls of the watch; those below may not.
    virtual void member_lost(const control_member& member, const std::string& why) = 0;
    virtual void host_lost(slot_process slot, std::uint32_t incarnation) = 0;
    // Is about to be lost, and may live: somebody is to end it.
    virtual void out_of_reach(const control_member& member) = 0;
    virtual void out_of_reach(slot_process slot, std::uint32_t incarnation) = 0;
  };

  member_watch(owner& of, control_port& port, const member_watch_options& options)
      : owner_(of), port_(port), options_(options), members_(options.shards) {}

  // A member has joined. Returns those that had its place, who are members no more.
  std::vector<control_member> add(control_member joined);
  // This incarnation of the process of a slot has joined.
  void add_host(slot_process slot, std::uint32_t incarnation, const control_peer& peer);

  // As coordinator_shell::connection_lost().
  void connection_lost(std::uint64_t handle, bool broke, const std::string& why);
  // The launcher says that this process has ended.
  void process_ended(const policies::process_name& name, std::uint32_t incarnation);
  // The port's look_in() is over.
  void look();

  bool is_member(std::uint64_t handle) const { return members_.contains(handle); }
  // The process of the slot that joined last; there is one.
  const control_peer& host(slot_process slot) const { return hosts_.at(slot).peer; }
  std::vector<control_peer> hosts() const;
  // Returns true if this is the connection of a member or host.
  bool contains(std::uint64_t handle) const;

 private:
  struct host_record {
    std::uint32_t incarnation = 0;
    control_peer peer = {};
    bool ended = false;  // the launcher says so
    std::optional<std::int64_t> absent_since = {};
  };

  bool may_return(const control_member& member) const;
  void lose(slot_process slot, host_record& known);
  void host_ended(slot_process slot, std::uint32_t incarnation);
  void look_soon();

  owner& owner_;
  control_port& port_;
  member_watch_options options_;
  control_members members_;
  std::map<slot_process, host_record> hosts_;  // the latest of each
  bool looks_ = false;                         // a look is on its way
};

}  // namespace tidegate::actors
