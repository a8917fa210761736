// Codes that shards answer with, on the wire in frame_header::code. Append only.
#pragma once

#include <cstdint>
#include <string_view>

namespace tidegate::policies {

enum class refusal : std::uint32_t {
  none = 0,
  unknown_job = 1,
  unknown_worker = 2,  // never admitted, or another incarnation
  stale_epoch = 3,
  unknown_table = 4,
  unknown_chunk = 5,  // not on this shard
  wrong_size = 6,
  beyond_window = 7,   // a push too many clocks ahead of what was acknowledged
  too_late = 8,        // a BSP pull of a version that is gone
  pull_under_way = 9,  // a second pull of the chunk by this worker
  after_finish = 10,   // the worker said that it was done
  no_memory = 11,      // no receive buffer left
  job_ended = 12,      // the job failed or was stopped
  no_window = 13,      // the shard cannot read the memory of the worker
};

std::string_view to_string(refusal code) noexcept;

// Of one that has not been told of the job, the table or the worker. Where shards have replicas
// it has been replaced, and the coordinator does not talk to it any more: who serves is told
// before its workers are, and those will be told where that is.
constexpr bool is_not_told(refusal code) noexcept {
  return code == refusal::unknown_job || code == refusal::unknown_worker ||
         code == refusal::unknown_table || code == refusal::unknown_chunk;
}

}  // namespace tidegate::policies
