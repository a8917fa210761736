// Engines of other projects that start agents on the hosts of an allocation: Slurm by srun, MPI
// by mpirun. A cluster file that names one is as one that names its hosts, with the commands
// that reach them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "launch/plan/environment.hpp"
#include "policies/model/spec.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::launch {

// Implementations of MPI differ in the options of mpirun.
enum class mpi_kind : std::uint8_t { open_mpi, mpich };
// Returns which it is by what `mpirun --version` prints; what has no name of Open MPI's has
// the options of MPICH, as Intel's has.
mpi_kind mpi_of_version(std::string_view text);

struct engine_facts {
  std::string own_host;            // the launcher's, by its name among the nodes
  std::vector<std::string> nodes;  // Slurm's, of the allocation
  mpi_kind mpi = mpi_kind::open_mpi;
};

// Returns the cluster with hosts, and without an engine. Pure. Errors: invalid_argument (a host
// is not in the allocation, or the launcher is on none; the message says which).
runtime::expected<policies::cluster_spec> with_hosts_of(const policies::cluster_spec& spec,
                                                        const engine_facts& facts);

// Likewise, with what the engine says when it is asked; blocks for its answer. A cluster
// without an engine is returned as it is. Errors: also unavailable (there is no allocation),
// io_error (the engine does not answer, or there is no such program).
runtime::expected<policies::cluster_spec> on_engine(const policies::cluster_spec& spec,
                                                    const variables& environment);

// Returns the cluster as it would be on `nodes` nodes of its engine; 0: those that it names.
// Nobody is asked, so nodes that it does not name are node1, node2, ... Pure. Errors:
// invalid_argument (it names none, and `nodes` is 0; or not so many).
runtime::expected<policies::cluster_spec> as_if_on_engine(const policies::cluster_spec& spec,
                                                          std::uint32_t nodes);

}  // namespace tidegate::launch
