#include "policies/protocol/protocol.hpp"

namespace tidegate::policies {

std::string_view to_string(refusal code) noexcept {
  switch (code) {
    case refusal::none:
      return "none";
    case refusal::unknown_job:
      return "unknown job";
    case refusal::unknown_worker:
      return "worker not admitted, or another incarnation of it was";
    case refusal::stale_epoch:
      return "a stale membership epoch";
    case refusal::unknown_table:
      return "unknown table";
    case refusal::unknown_chunk:
      return "chunk not on this shard";
    case refusal::wrong_size:
      return "payload is not of the chunk's size";
    case refusal::beyond_window:
      return "push beyond the credit window";
    case refusal::too_late:
      return "version no longer there";
    case refusal::pull_under_way:
      return "a pull of this chunk is under way";
    case refusal::after_finish:
      return "worker has finished";
    case refusal::no_memory:
      return "no receive buffer left";
    case refusal::job_ended:
      return "the job has ended";
    case refusal::no_window:
      return "no memory shared with the worker";
  }
  return "unknown refusal";
}

}  // namespace tidegate::policies
