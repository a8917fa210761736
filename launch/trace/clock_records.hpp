// What happened in each clock of a job, of the spans that its processes have noted: where each
// worker's time went, whose push came last to the shards and whose answer to the workers, and
// by how much. Pure, any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launch/trace/process_spans.hpp"
#include "launch/trace/trace_text.hpp"
#include "launch/trace/wait_parts.hpp"

namespace tidegate::launch {

// Times in nanoseconds since 1970, durations in nanoseconds.
struct worker_clock {
  std::uint32_t incarnation = 1;
  std::int64_t began_ns = 0;   // when the clock before had ended
  std::int64_t pushed_ns = 0;  // when its first push began; 0: it pushed nothing
  std::int64_t ended_ns = 0;
  std::uint64_t call_ns = 0;
  std::uint64_t wait_ns = 0;
  std::uint64_t late_ns = 0;  // as policies::worker_status::least_late_ns
  // Whose answer came last, and by how much after the last but one; nothing where there is one
  // shard.
  std::optional<std::uint32_t> last_shard = {};
  std::uint64_t shard_late_ns = 0;
  // What it waited for; nothing where that is not known: the shard has noted nothing of the
  // clock, or aggregators come between.
  std::optional<wait_parts> waits = {};
  std::uint64_t pushed_bytes = 0;  // that shards took
  // Of the parameters that it has pushed with, in clocks; nothing: it had pulled none.
  std::optional<std::uint32_t> staleness = {};

  // What is neither in calls nor in waits.
  std::uint64_t compute_ns() const;
};

struct clock_record {
  std::string job;
  std::uint64_t clock = 0;
  std::map<std::uint32_t, worker_clock> workers = {};  // by rank

  // The worker that came last by most; nothing: nobody did.
  std::optional<std::uint32_t> last_rank() const;
  // The shard that answered last most often.
  std::optional<std::uint32_t> last_shard() const;
};

// Ascending in job and clock. `clocks`: of these alone. For a worker a clock is left out of
// which it has noted only the end, as its ring was full, and one that goes on. `staleness`: as
// spans_file has it.
std::vector<clock_record> clock_records(const std::vector<process_spans>& spans,
                                        const job_staleness& staleness,
                                        const std::optional<clock_range>& clocks);

}  // namespace tidegate::launch
