// The memory in which workers of a host keep state that outlives their processes: one file per
// rank, as long as the agent of the host lives. Main thread only.
#pragma once

#include <cstdint>
#include <map>

#include "policies/model/process_name.hpp"
#include "policies/model/spec.hpp"
#include "policies/protocol/agent_messages.hpp"
#include "runtime/base/status.hpp"
#include "runtime/process/state_file.hpp"

namespace tidegate::launch {

class worker_states {
 public:
  // `spec` outlives it.
  explicit worker_states(const policies::cluster_spec& spec) : spec_(spec) {}

  // What was kept is of no use any more.
  void forget() { files_.clear(); }

  // Returns the descriptor that a process which is about to be started inherits: of the file of
  // its rank, or of a new one where the rank has none yet, joins anew, or was on another host
  // meanwhile; -1 where it keeps no state. Errors: io_error.
  runtime::expected<int> prepare(const policies::agent_orders::start& start,
                                 std::uint64_t token);

 private:
  const policies::cluster_spec& spec_;
  std::map<policies::process_number, runtime::state_file> files_;
};

}  // namespace tidegate::launch
