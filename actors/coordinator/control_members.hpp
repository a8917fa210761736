// The processes that a coordinator counts as members, by their control connections. A broken
// connection is no death: a member may be absent for a while. One thread; time is an argument,
// nanoseconds of a clock that never goes back.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "actors/coordinator/control_port.hpp"
#include "policies/model/process_name.hpp"

namespace tidegate::actors {

struct control_member {
  policies::process_role role = policies::process_role::worker;  // shard: any of its group
  std::string job = {};                                          // empty: a shard
  std::uint32_t index = 0;     // of the shard or aggregator, or rank
  std::uint32_t in_group = 0;  // of a shard
  std::uint32_t incarnation = 0;
  std::string address = {};  // of its link
  control_peer peer = {};
  bool ended = false;  // the launcher says so
  std::optional<std::int64_t> absent_since = {};

  // Returns whether both have the same place in the cluster.
  bool shares_place_with(const control_member& other) const;
};

class control_members {
 public:
  // `shards`: of the cluster, which the names of replicas depend on.
  explicit control_members(std::uint32_t shards) : shards_(shards) {}

  // Adds a member, present. Returns those that had its place, who are members no more.
  std::vector<control_member> add(control_member joined);
  // Returns null if nobody has this connection.
  control_member* find(std::uint64_t handle);
  // Returns null if nobody of this name and incarnation is here.
  control_member* find(const policies::process_name& name, std::uint32_t incarnation);
  std::optional<control_member> remove(std::uint64_t handle);
  // Removes and returns the absent for which `is_over(member)` holds.
  std::vector<control_member> remove_absent(
      const std::function<bool(const control_member&)>& is_over);
  // The launcher says that this process has ended.
  void note_ended(std::uint64_t process);
  bool contains(std::uint64_t handle) const { return members_.contains(handle); }
  bool has_absent() const;

 private:
  bool is_named(const control_member& member, const policies::process_name& name) const;

  std::uint32_t shards_;
  std::map<std::uint64_t, control_member> members_;  // by handle
};

}  // namespace tidegate::actors
