// The memory in which processes of a run note what they do, for traces: a ring for each, and
// the one that its incarnation before has left. Main thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "policies/protocol/agent_messages.hpp"
#include "runtime/recorder/span_ring.hpp"

namespace tidegate::launch {

class span_rings {
 public:
  // A ring for a process that is about to be started. Returns the descriptor to inherit.
  // Errors: io_error.
  runtime::expected<int> prepare(const policies::launched_process& process,
                                 const std::string& writer, std::uint64_t token);
  // It has been, or could not be: then what its incarnation before has left stays.
  void started(policies::process_number process);
  void not_started(policies::process_number process) { starting_.erase(process); }

  // Returns what all have noted, of each the last so many at most.
  std::vector<policies::agent_reports::spans> read(std::size_t each_max) const;
  // Returns of how many incarnations there is something.
  std::size_t size() const noexcept { return rings_.size() + before_.size(); }

 private:
  struct owned_ring {
    std::uint32_t incarnation = 1;
    std::string writer;
    runtime::span_ring ring;
  };
  using rings = std::map<policies::process_number, owned_ring>;

  rings starting_;
  rings rings_;   // of the incarnation that was started last
  rings before_;  // of the one before it
};

}  // namespace tidegate::launch
