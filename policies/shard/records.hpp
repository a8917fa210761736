// What all parts of a shard core know of jobs, ranks, tables and chunks. Plain values, which
// chunk_registry owns; what a single part needs is private to that part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "policies/consistency/bsp.hpp"
#include "policies/consistency/consistency.hpp"
#include "policies/consistency/relay.hpp"
#include "policies/model/membership_schedule.hpp"
#include "policies/model/row_payloads.hpp"
#include "policies/model/spec.hpp"
#include "policies/shard/chunk_versions.hpp"
#include "runtime/base/limits.hpp"

namespace tidegate::policies::sharding {

// Clocks of a worker's pushes that may be held for a chunk at a time.
inline constexpr auto window = runtime::limits::clocks_in_flight_max;
inline constexpr std::uint32_t no_run = 0xffff'ffff;

// The squares of the whole gradient of a clock, in sum, with which its step is made.
struct step_norm {
  std::uint64_t clock = 0;
  double squares = 0.0;
};

struct rank_record {
  bool member = true;             // it pushes here
  std::uint32_t incarnation = 0;  // 0 until it is admitted
  std::uint64_t joined = 0;       // its first clock
  bool left = false;
  bool shut_out = false;
  bool finished = false;
};

struct job_record {
  std::uint64_t token = 0;
  std::uint64_t epoch = 0;  // of its frames; 0 at a replica
  bool closed = false;
  std::uint32_t keeps = 0;  // versions before the current one
  consistency_spec consistency;
  std::size_t relay_parts = 0;  // 0 if this is no relay
  bool clips_by_norm = false;   // steps wait for the norm of the whole gradient
  std::vector<rank_record> ranks;
  membership_schedule membership;
  std::uint32_t changes = 0;         // of the membership that are known
  std::vector<std::uint32_t> slots;  // of all its chunks

  // Returns true if each version holds the pushes of all ranks below its clock.
  bool has_exact_versions() const noexcept {
    return traits_of(consistency.kind).has_exact_versions;
  }
};

// The runs of a table's chunks that the step under way answers as one, for one rank.
struct open_runs {
  std::uint32_t acknowledge = no_run;
  std::uint32_t reply = no_run;
};

struct table_record {
  job_record* job = nullptr;
  bool has_rows = false;  // its chunks are parts of a table of rows: payloads have no one size
  std::map<std::uint32_t, std::uint32_t> slots;  // by chunk
  std::vector<std::uint32_t> order;              // slots by index
  std::vector<open_runs> runs;                   // by rank; reply_batcher alone writes them
};

struct chunk_record {
  std::uint32_t slot = 0;
  std::uint32_t table = 0;
  std::uint32_t chunk = 0;
  std::uint32_t index = 0;  // among the table's chunks here
  std::uint64_t elements = 0;
  table_record* home = nullptr;
  chunk_versions versions;
  std::unique_ptr<consistency_policy> policy;
  relay_policy* relay = nullptr;  // `policy`, if this is a relay
  bsp_policy* clipped = nullptr;  // `policy`, if steps wait for norms

  job_record& job() const noexcept { return *home->job; }
  // Returns true if a gradient may have so many bytes, or a sum of those of all ranks.
  bool takes_gradient(std::uint64_t payload_bytes) const noexcept {
    return home->has_rows ? is_row_payload(payload_bytes)
                          : payload_bytes == elements * sizeof(float);
  }
  bool takes_sum(std::uint64_t payload_bytes) const noexcept {
    return home->has_rows ? is_row_payload(payload_bytes, ranks())
                          : takes_gradient(payload_bytes);
  }
  std::uint32_t ranks() const noexcept {
    return static_cast<std::uint32_t>(home->job->ranks.size());
  }
};

}  // namespace tidegate::policies::sharding
