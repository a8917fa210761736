// The memory of a shard: parameters and optimizer state of the chunks it owns, and the
// gradients that wait to be summed.
//
// Parameters lie in shared segments, the chunks of a table one after another, one copy per
// plane (policies/shard_core.hpp says which plane holds what). Gradients are received into
// blocks of a pool, or stay where their worker wrote them. Holds no CAF and no protocol; one
// reactor thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "policies/coordinator_core.hpp"
#include "policies/shard_core.hpp"
#include "policies/spec.hpp"
#include "runtime/base/status.hpp"
#include "runtime/kernels/update.hpp"
#include "runtime/memory/arena.hpp"
#include "runtime/memory/buffer.hpp"

namespace tidegate::actors {

// How a job's tables are kept.
struct store_options {
  float scale = 1.0F;  // of the summed gradients
  std::uint32_t workers = 1;
};

class shard_store {
 public:
  explicit shard_store(std::shared_ptr<runtime::memory_source> source)
      : gradients_pool_(std::move(source)) {}

  // Makes chunks, whose slots are the next unused ones, with their initial values. Errors:
  // over_limit, io_error (memory is short).
  runtime::status add_table(const policies::open_table_call& table,
                            std::span<const policies::owned_chunk> chunks,
                            const store_options& options);
  // Where the chunks of a table lie, from the first on; they fill `bytes`.
  struct table_place {
    runtime::place_name name;
    std::uint64_t bytes = 0;
  };
  table_place place_of(std::uint32_t table) const;

  // A place for a gradient of `bytes`; empty when the bound is reached.
  runtime::buffer lease(std::size_t bytes) { return gradients_pool_.lease(bytes); }
  // Keeps a received gradient, or the table's gradient that starts at `in_place`, and names the
  // chunk's part of it.
  policies::payload_handle keep(runtime::buffer gradient);
  policies::payload_handle keep(const std::byte* in_place, std::uint32_t slot);
  void release(policies::payload_handle payload);

  // One optimizer step. inputs ascend in rank.
  void apply(const policies::shard_effects::apply& what,
             std::span<const policies::shard_effects::input> inputs);
  std::span<const std::byte> parameters(std::uint32_t slot, std::uint32_t plane) const;
  std::uint64_t bytes_of(std::uint32_t slot) const { return chunks_[slot].elements * 4; }
  // The end of the last chunk here of a table, in bytes from the table's begin.
  std::uint64_t reach_of(std::uint32_t table) const { return tables_.at(table).reach; }

 private:
  struct table_memory {
    std::uint32_t planes = 0;  // which arena
    runtime::arena::place place;
    std::uint64_t reach = 0;
    std::vector<bool> prepared;  // by plane
  };
  struct chunk_memory {
    std::uint32_t table = 0;
    std::uint64_t first = 0;   // element of the table
    std::uint64_t offset = 0;  // in bytes within the table's place
    std::size_t elements = 0;
    runtime::kernels::optimizer optimizer;
    runtime::kernels::adam_powers powers;
    float scale = 1.0F;
    float* state1 = nullptr;
    float* state2 = nullptr;
  };
  struct payload {
    runtime::buffer kept;  // empty: somebody else's memory
    const float* data = nullptr;
  };

  runtime::expected<std::byte*> add_state(std::uint64_t bytes);
  policies::payload_handle keep(payload what);
  float* at(const chunk_memory& chunk, std::uint32_t plane) const;

  runtime::size_pools gradients_pool_;
  std::map<std::uint32_t, runtime::arena> parameters_;  // by number of planes
  runtime::arena states_{"tidegate-state", 1};
  std::uint64_t bytes_kept_ = 0;  // parameters and optimizer state
  std::map<std::uint32_t, table_memory> tables_;
  std::vector<chunk_memory> chunks_;  // by slot
  std::vector<payload> payloads_;     // by handle - 1
  std::vector<policies::payload_handle> payloads_free_;
  std::vector<runtime::kernels::gradient> gradients_;  // of the step being made
};

}  // namespace tidegate::actors
