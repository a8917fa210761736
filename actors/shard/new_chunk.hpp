// A chunk as it is when its table is opened. Pure functions, any thread.
#pragma once

#include <span>

#include "policies/checkpoint/image.hpp"
#include "policies/protocol/control_calls.hpp"
#include "policies/shard/effects.hpp"

namespace tidegate::actors {

// Returns what a checkpoint would say of the chunk before its first step.
policies::chunk_description describe_new(const policies::open_table_call& table,
                                         const policies::owned_chunk& chunk);
// Writes the chunk's initial parameters to `values`, one for each of its elements. They depend
// on the table's init and key and on the element's place in the table alone.
void write_initial(const policies::open_table_call& table, const policies::owned_chunk& chunk,
                   std::span<float> values);

}  // namespace tidegate::actors
