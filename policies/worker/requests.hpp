// The frames of pushes and pulls: what a worker sends for them, first and again. A part of a
// table that is attached is pushed and pulled by a doorbell for each run of chunks that share a
// fate: all of them, unless ranges are pushed or pulled. The others go chunk by chunk.
#pragma once

#include <cstdint>

#include "policies/worker/effects.hpp"
#include "policies/worker/table_book.hpp"

namespace tidegate::policies {

inline constexpr std::uint32_t every_shard = 0xffff'ffff;

// Append the frames of a push, or of a pull with this number. `request` of a push: of the pull
// of the clock after, which goes along; 0: none does.
void send_push(std::uint32_t id, const worker_table& table, const push_state& push,
               std::uint64_t request, worker_effects& out);
void send_pull(std::uint32_t id, const worker_table& table, std::uint64_t request,
               worker_effects& out);
// Begins the pull that waits, which has an operation, with this number, and appends its frames;
// or its end, if it asks for no chunk.
void begin_waiting_pull(std::uint32_t id, worker_table& table, std::uint64_t request,
                        worker_effects& out);
// Append again the frames of what this shard, or every shard, has not answered. A pull has a
// new number, as shards answer each number once; a chunk that is arriving is not asked for
// again.
void resend_push(std::uint32_t id, const worker_table& table, const push_state& push,
                 std::uint32_t shard, worker_effects& out);
void resend_pull(std::uint32_t id, worker_table& table, std::uint32_t shard,
                 std::uint64_t request, worker_effects& out);

// Append the frame of one chunk again, of a push or of a pull that calls.
void repeat_push(std::uint32_t id, const worker_table& table, const push_state& push,
                 std::uint32_t chunk, worker_effects& out);
void repeat_call(std::uint32_t id, worker_table& table, std::uint32_t chunk,
                 std::uint64_t request, worker_effects& out);

}  // namespace tidegate::policies
