// How much memory the processes of a cluster take for the tables that its file declares, at
// most, and whether the launcher's machine has it: what would otherwise end with the kernel
// killing a process in the middle of the job. Programs' own memory is not known here. Pure, any
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policies/model/process_name.hpp"
#include "policies/model/spec.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::policies {

struct memory_needs {
  std::string process;             // "shard-0"
  std::string host;                // by name; empty: the cluster names none
  bool is_beside_launcher = true;  // no prefix starts it, perhaps on another machine
  std::uint64_t parameters = 0;    // the current version; of a worker: what it receives
  std::uint64_t versions = 0;      // kept ones, and one per worker that may still read it
  std::uint64_t states = 0;        // of optimizers
  std::uint64_t gradients = 0;     // of workers; of shards: what is received and not summed
  std::uint64_t sums = 0;          // kept for the other processes of the chain, or to hand on
  std::uint64_t checkpoint = 0;    // the copy that is being written

  std::uint64_t total() const noexcept {
    return parameters + versions + states + gradients + sums + checkpoint;
  }
};

// Versions of a table beside the current one that a shard may have to keep at a time for a job
// of so many workers: under ssp and async each worker may read one of its own, while another is
// written.
std::uint32_t versions_beside(const cluster_spec& cluster, const job_spec& job);

// Of every process, with all the workers that may join later, in the order of their start.
std::vector<memory_needs> memory_needs_of(const cluster_spec& cluster);

// Of what runs beside the launcher.
std::uint64_t bytes_beside_launcher(const std::vector<memory_needs>& needs);

// `available`: of the launcher's machine, in bytes. Errors: over_limit, and what to do.
runtime::status check_memory(const cluster_spec& cluster, std::uint64_t available);

}  // namespace tidegate::policies
