// What a cluster_spec comes to before anything runs: processes, chunks per shard, memory.
// Plain values, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policies/model/process_name.hpp"
#include "policies/model/spec.hpp"
#include "policies/placement/descriptors.hpp"
#include "policies/placement/memory_needs.hpp"

namespace tidegate::launch {

using policies::process_name;
using policies::process_role;

struct process_plan {
  process_name name;
  std::string host;                  // by name; empty: the cluster names none
  std::vector<std::string> command;  // as in the YAML; nodes: of tidegate itself
  std::uint32_t incarnation = 1;     // rises when it comes back
};

struct host_plan {
  std::string name;
  std::string address;
  std::vector<std::string> rails;  // its further addresses
  std::vector<std::string>
      agent;  // the command that starts its agent; empty: the launcher's own
};

struct table_plan {
  std::string name;
  std::uint64_t elements = 0;
  std::uint64_t bytes = 0;    // of parameters; 0 of a table of rows, which are made as it runs
  std::uint32_t row_dim = 0;  // of a table of rows, whose parts are its chunks
  // Bytes of rows that each shard keeps in memory, the rest in a file; 0: all.
  std::uint64_t row_memory = 0;
  std::uint64_t chunks = 0;
  std::vector<std::uint64_t> chunks_per_shard;
  std::vector<policies::optimizer_kind> optimizers;  // one, or those of segments
};

struct job_plan {
  std::string name;
  std::string policy;  // "bsp", "ssp(3)", "async"
  std::uint32_t workers = 0;
  std::uint32_t aggregators = 0;
  std::vector<table_plan> tables;  // declared ones
  std::string checkpoints = {};    // the folder that it names for them; empty: none
};

struct shard_plan {
  std::uint64_t chunks = 0;
  std::uint64_t parameter_bytes = 0;
  std::uint64_t state_bytes = 0;  // of optimizers: none to two copies
  std::uint64_t receive_bytes_max =
      0;  // gradients that may wait: clocks in flight x who pushes
};

struct cluster_plan {
  std::string cluster;
  std::uint64_t chunk_bytes = 0;
  std::string device;  // where shards keep parameters and state; empty: in their memory
  std::vector<host_plan> hosts;         // empty: the cluster names none
  std::vector<process_plan> processes;  // in the order they are started
  std::vector<job_plan> jobs;
  std::vector<shard_plan> shards;
  std::vector<policies::process_needs> needs;  // of file descriptors and mappings
  std::vector<policies::memory_needs> memory;  // of every process, for declared tables
  bool parts_move = false;                     // shards are parts of a process, which may move
};

// The spec is one that parse_cluster accepted.
cluster_plan make_plan(const policies::cluster_spec& spec);

// A process of the cluster by its name, of its plan or one that is started later.
process_plan plan_process(const policies::cluster_spec& spec, const process_name& name);
// A process of shards, of its plan or one that is started later.
process_plan plan_shard(const policies::cluster_spec& spec, process_role role,
                        std::uint32_t index);
// A worker of it, or one that joins later.
process_plan plan_worker(const policies::cluster_spec& spec, const policies::job_spec& job,
                         std::uint32_t rank);

// For people: tables of processes, tables and shards.
std::string plan_text(const cluster_plan& plan);
// The same as JSON, indented.
std::string plan_json(const cluster_plan& plan);

}  // namespace tidegate::launch
