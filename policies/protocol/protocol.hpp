// Codes that shards answer with, on the wire in frame_header::code. Append only.
#pragma once

#include <cstdint>
#include <string_view>

namespace tidegate::policies {

enum class reply_code : std::uint32_t {
  ok = 0,              // accepted
  unknown_job = 1,     // the job has not been opened here
  unknown_worker = 2,  // the worker was never admitted, or another incarnation of it was
  stale_epoch = 3,     // the frame is of an earlier epoch
  unknown_table = 4,   // the table has not been opened here
  unknown_chunk = 5,   // the chunk is not on this shard
  wrong_size = 6,      // the payload is not as long as the chunk
  beyond_window = 7,   // the push is too many clocks ahead of what was acknowledged
  too_late = 8,        // a BSP pull of a version that is gone
  pull_under_way = 9,  // a second pull of the chunk by this worker
  after_finish = 10,   // the worker has said that it is done
  no_memory = 11,      // no receive buffer is left
  job_ended = 12,      // the job failed or was stopped
  no_window = 13,      // the shard cannot read the memory of the worker
  table_full = 14,     // the table of rows has no room for the new rows of a step
  unknown_list = 15,   // the list of ids that the frame names is not kept here
};

std::string_view to_string(reply_code code) noexcept;

// Returns true for replies of a process that has not been told of the job, the table or the
// worker. Where shards have replicas, such a process has been replaced: the coordinator tells
// the process that serves before it tells workers, which will hear where that process is.
constexpr bool is_not_told(reply_code code) noexcept {
  return code == reply_code::unknown_job || code == reply_code::unknown_worker ||
         code == reply_code::unknown_table || code == reply_code::unknown_chunk;
}

}  // namespace tidegate::policies
