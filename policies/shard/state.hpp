// What a shard core keeps of jobs, tables, chunks and workers. Plain values; shard_core.hpp
// says what becomes of them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "policies/consistency/consistency.hpp"
#include "policies/consistency/relay.hpp"
#include "policies/model/clock_vector.hpp"
#include "policies/model/rank_progress.hpp"
#include "policies/model/roster.hpp"
#include "policies/model/spec.hpp"
#include "policies/protocol/protocol.hpp"
#include "policies/shard/effects.hpp"
#include "runtime/base/limits.hpp"

namespace tidegate::policies::shard_state {

inline constexpr auto window = runtime::limits::clocks_in_flight_max;
inline constexpr std::uint32_t none_open = no_plane;

// What a snapshot of a chunk holds.
struct cut_state {
  std::uint64_t version = 0;
  std::vector<rank_progress> ranks;
};
struct seed_state {
  cut_state now;
  std::vector<std::uint64_t> kept;  // versions before, the newest first
};

struct held_push {
  bool arriving = false;  // its payload has a place and is on its way
  bool there = false;
  bool rings = false;
  std::uint64_t clock = 0;
  payload_handle payload = no_payload;
};
struct worker_at_chunk {
  std::uint64_t next = 0;                // the clock expected
  std::array<held_push, window> held{};  // by clock modulo window
  bool pulling = false;
  bool pull_rings = false;
  bool leased = false;  // reads lease.plane, since it pulled at pull_clock
  std::uint8_t sending = 0;
  bool answer_waits = false;  // for the end of a reply under way
  std::uint64_t pull_clock = 0;
  std::uint64_t request = 0;  // of the last pull
  shard_effects::version_at lease;
};
struct worker_state {
  bool member = true;             // else it does not push here
  std::uint32_t incarnation = 0;  // 0: never admitted
  std::uint64_t joined = 0;       // its first clock
  bool left = false;
  bool shut_out = false;
  bool finished = false;
  bool farewell_waits = false;  // for the replica
};
// One that the replica has not made yet, the first being on its way to it.
struct step_to_replicate {
  std::uint64_t version = 0;
  std::uint32_t rank = 0;
  std::uint64_t clock = 0;
  std::uint32_t team = 1;
  std::uint32_t inputs = 0;
  payload_handle payload = no_payload;
  bool owns_payload = false;
};
struct job_state {
  std::uint64_t epoch = 0;
  bool closed = false;
  std::uint32_t keeps = 0;  // versions before the current one
  bool leads = false;       // a replica
  consistency_spec consistency;
  std::size_t relay_parts = 0;  // 0: no relay
  std::vector<worker_state> workers;
  roster membership;
  std::uint32_t changes = 0;  // of who, that have been told
  // Who is to join, and when: clocks behind wait for it as if it had. infinity: nobody.
  std::uint32_t hold_rank = 0;
  std::uint64_t hold_clock = clock_vector::infinity;
  std::vector<std::uint32_t> slots;  // of all its chunks
  std::size_t begun = 0;             // of `slots`, the first so many follow or have been begun
  std::size_t seeding = 0;           // chunks that are on their way to the replica
};
// Runs of this table's chunks that the step under way answers as one, by rank.
struct open_runs {
  std::uint32_t acknowledge = none_open;
  std::uint32_t reply = none_open;
};
struct table_state {
  std::uint64_t token = 0;
  job_state* job = nullptr;
  std::map<std::uint32_t, std::uint32_t> slots;  // chunk -> slot
  std::vector<std::uint32_t> order;              // slots by index
  std::vector<open_runs> runs;
};
struct kept_version {
  std::uint32_t plane = none_open;
  std::uint64_t version = 0;
};
struct chunk_state {
  std::uint32_t table = 0;
  std::uint32_t chunk = 0;
  std::uint32_t index = 0;  // among the table's chunks here
  std::uint32_t plane = 0;  // of the current version
  std::uint64_t elements = 0;
  std::uint64_t version = 0;
  std::array<kept_version, versions_kept_max> kept;  // the newest first
  table_state* home = nullptr;
  std::vector<std::uint32_t> readers;  // of each plane
  std::unique_ptr<consistency_policy> policy;
  relay_policy* relay = nullptr;        // `policy`, when this is a relay
  std::uint32_t filling = none_open;    // plane that is received into
  bool received = false;                // from upstream: there is a version
  refusal refused = refusal::none;      // what upstream said to a pull
  std::array<refusal, window> codes{};  // what upstream said to clocks, by clock
  bool follows = false;                 // its steps are made by the replica, too
  bool seeding = false;                 // it is on its way there; what is to follow waits
  bool stepping = false;                // of a replica: the payload of a step is on its way
  bool has_seed = false;                // likewise: it was handed over
  seed_state seeded;
  std::vector<step_to_replicate> to_replicate;
  bool to_cut = false;  // at cut_clock
  std::uint64_t cut_clock = 0;
  cut_state cut;
  std::vector<worker_at_chunk> workers;
};
struct answer_run {
  bool is_reply = false;
  frame_tag tag;
  std::uint32_t count = 0;
  refusal code = refusal::none;
  shard_effects::version_at where;
  bool applied = false;  // see ring_reply
  bool merged = false;   // an acknowledgement that a reply carries
};

}  // namespace tidegate::policies::shard_state
