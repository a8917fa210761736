// The names of the processes of a cluster. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tidegate::policies {

// A replica is one more process of a shard's group; see replica_chain.
enum class process_role : std::uint8_t { coordinator, shard, worker, aggregator, replica };

inline constexpr process_role process_roles[] = {
    process_role::coordinator, process_role::shard, process_role::replica,
    process_role::aggregator, process_role::worker};

// Returns true for the roles of processes of a shard's group.
constexpr bool serves_shard(process_role role) noexcept {
  return role == process_role::shard || role == process_role::replica;
}
std::string_view to_string(process_role role) noexcept;
// Returns the role of that name; nothing if no role has it.
std::optional<process_role> role_of(std::string_view name) noexcept;

// `job` only for workers and aggregators; `index` is the shard's number (of a replica,
// replica_index), the aggregator's number in its job, or the worker's rank.
struct process_name {
  process_role role = process_role::coordinator;
  std::string job;
  std::uint32_t index = 0;

  // Returns "coordinator-0", "shard-1", "worker-mlp-3": for messages and log files.
  std::string to_string() const;
  friend bool operator==(const process_name&, const process_name&) = default;
};

using process_number = std::uint32_t;  // the index of a process in the plan of a launcher
using host_number = std::uint32_t;     // likewise of a host
// Counts the processes of a run from 1 that wait for a place in a job, without a name.
using spare_number = std::uint32_t;
inline constexpr spare_number no_spare = 0;

}  // namespace tidegate::policies
