#include "policies/protocol/protocol.hpp"

namespace tidegate::policies {

std::string_view to_string(reply_code code) noexcept {
  switch (code) {
    case reply_code::ok:
      return "none";
    case reply_code::unknown_job:
      return "unknown job";
    case reply_code::unknown_worker:
      return "worker not admitted, or another incarnation of it was";
    case reply_code::stale_epoch:
      return "a stale membership epoch";
    case reply_code::unknown_table:
      return "unknown table";
    case reply_code::unknown_chunk:
      return "chunk not on this shard";
    case reply_code::wrong_size:
      return "payload is not of the chunk's size";
    case reply_code::beyond_window:
      return "push beyond the credit window";
    case reply_code::too_late:
      return "version no longer there";
    case reply_code::pull_under_way:
      return "a pull of this chunk is under way";
    case reply_code::after_finish:
      return "worker has finished";
    case reply_code::no_memory:
      return "no receive buffer left";
    case reply_code::job_ended:
      return "the job has ended";
    case reply_code::table_full:
      return "a part of the table has no room for more rows; give the table a larger capacity, "
             "or what does not fit its memory a larger disk: the shard's log says which";
    case reply_code::unknown_list:
      return "the list of ids that the frame names is not kept";
    case reply_code::no_window:
      return "no memory shared with the worker";
  }
  return "unknown refusal";
}

}  // namespace tidegate::policies
