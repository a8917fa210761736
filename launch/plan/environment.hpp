// The environment of the processes that `tidegate launch` starts. Pure, any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "launch/plan/plan.hpp"
#include "policies/model/spec.hpp"

namespace tidegate::launch {

using variables = std::map<std::string, std::string>;

// What every process of the run is told.
struct run_identity {
  std::uint64_t token = 0;
  std::uint16_t port = 0;  // of the coordinator; 0 while it is not known
  std::string run_dir;     // absolute
  std::uint32_t epoch = 1;
  // Free when the run began, for workers' own use (MASTER_PORT).
  std::uint16_t workers_port = 0;
};

// `base` (the launcher's own), the variables of actors/environment/node_options.hpp and, for
// workers, what torchrun would tell them (RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE,
// MASTER_ADDR, MASTER_PORT) and the job's env, which may override that. UCX_TLS follows the
// transport unless `base` or the job sets it. Secrets of a store of objects, where the cluster
// has one, are for shards and the coordinator alone.
variables child_environment(const variables& base, const policies::cluster_spec& spec,
                            const process_plan& process, const run_identity& run);

// Where processes of the cluster reach the coordinator, which may listen on all addresses.
std::string reachable_host(const policies::cluster_spec& spec);

// Returns the value of a variable; an empty text where it is not set.
std::string variable_in(const variables& all, const std::string& name);

// Returns true if payload may go over UCX between hosts without RDMA, where UCX's own variables
// count: the cluster file says so, or under `auto` UCX_TLS in this environment.
bool may_send_over_ucx(const policies::cluster_spec& spec, const variables& environment);

// Returns true if a job's checkpoints are in a store of objects.
bool has_object_place(const policies::cluster_spec& spec);
// Without what only those need who write checkpoints to a store of objects, where the cluster
// has one.
variables without_object_secrets(variables all, const policies::cluster_spec& spec);

variables parse_environment(const char* const* environment);
// "NAME=value", sorted by name.
std::vector<std::string> format_environment(const variables& all);

// "%016x", and back. Nothing but 1 to 16 hex digits reads back.
std::string format_token(std::uint64_t token);
bool parse_token(const std::string& text, std::uint64_t& token);

}  // namespace tidegate::launch
