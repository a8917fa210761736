// How much memory the processes of a cluster take at most for the tables that its file
// declares, and whether the launcher's machine has it: otherwise the kernel might kill a
// process in the middle of the job. Programs' own memory is not known here. Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policies/model/process_name.hpp"
#include "policies/model/spec.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::policies {

// The memory of one process, in bytes.
struct memory_needs {
  std::string process;             // "shard-0"
  std::string host;                // by name; empty: the cluster names none
  bool is_beside_launcher = true;  // no prefix starts it, perhaps on another machine
  // The current version, with what tables of rows keep in memory, states too, where that is
  // bounded; of a worker: what it receives.
  std::uint64_t parameters = 0;
  std::uint64_t versions = 0;    // kept ones, and one per worker that may still read it
  std::uint64_t states = 0;      // of optimizers
  std::uint64_t gradients = 0;   // of workers; of shards: what is received and not summed
  std::uint64_t sums = 0;        // kept for the other processes of the chain, or to hand on
  std::uint64_t checkpoint = 0;  // the copy that is being written
  std::uint64_t kept = 0;        // what a worker keeps, where its job says how much

  std::uint64_t total() const noexcept {
    return parameters + versions + states + gradients + sums + checkpoint + kept;
  }
};

// Returns how many versions of a table, beside the current one, a shard may have to keep at a
// time for this job: under ssp and async each worker may read a version of its own, while
// another is written.
std::uint32_t versions_beside(const cluster_spec& cluster, const job_spec& job);

// Returns the needs of every process, with all the workers that may join later, in the order of
// their start.
std::vector<memory_needs> memory_needs_of(const cluster_spec& cluster);

// Returns the total of the processes that run beside the launcher.
std::uint64_t bytes_beside_launcher(const std::vector<memory_needs>& needs);

// Checks the needs against the memory that the launcher's machine has available, in bytes.
// Errors: over_limit (the message says what to do).
runtime::status check_memory(const cluster_spec& cluster, std::uint64_t available);

}  // namespace tidegate::policies
