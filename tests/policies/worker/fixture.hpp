// A worker core with two tables on two shards.
#pragma once

#include <vector>

#include <gtest/gtest.h>

#include "policies/model/clock_vector.hpp"
#include "policies/worker/core.hpp"

namespace tidegate::policies {

using runtime::errc;
using kind = worker_effects::send_kind;
using extent = worker_core::extent;

// Table 3: two chunks, on shards 0 and 1. Table 4: one chunk, on shard 1.
inline worker_core make_core() {
  worker_core core(2);
  core.add_table(3, {{.chunk = 0, .shard = 0, .first = 0, .elements = 8},
                     {.chunk = 1, .shard = 1, .first = 8, .elements = 4}});
  core.add_table(4, {{.chunk = 0, .shard = 1, .first = 0, .elements = 2}});
  return core;
}

inline void ack_all(worker_core& core, std::uint64_t clock, worker_effects& out) {
  core.on_ack(3, 0, clock, reply_code::ok, out);
  core.on_ack(3, 1, clock, reply_code::ok, out);
  core.on_ack(4, 0, clock, reply_code::ok, out);
}

}  // namespace tidegate::policies
