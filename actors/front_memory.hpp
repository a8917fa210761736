// The memory of the side that faces workers, in shards and aggregators alike: parameters that
// they read, and the gradients that they pushed and that wait to be summed.
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

#include "policies/shard_core.hpp"
#include "runtime/base/status.hpp"
#include "runtime/memory/arena.hpp"
#include "runtime/memory/buffer.hpp"
#include "runtime/memory/window.hpp"

namespace tidegate::actors {

class front_memory {
 public:
  explicit front_memory(std::shared_ptr<runtime::memory_source> source)
      : gradients_pool_(std::move(source)) {}

  struct sizes {
    std::uint32_t workers = 1;  // of the job
    std::uint32_t members = 1;  // that push here
    std::uint64_t copies = 1;   // of each chunk's bytes, that this process will keep in all
  };
  // Room for chunks, whose slots are the next unused ones. Errors: over_limit, io_error (memory
  // is short); then the slots are used up, and the table may be added again with others.
  runtime::status add_table(std::uint32_t table, std::span<const policies::owned_chunk> chunks,
                            const sizes& how);
  // What else its owner needs could not be had; the room stays taken.
  void forget_table(std::uint32_t table) { tables_.erase(table); }
  // Where the chunks of a table lie, from the first on; they fill `bytes`.
  struct table_place {
    runtime::place_name name;
    std::uint64_t bytes = 0;
  };
  table_place place_of(std::uint32_t table) const;
  // The end of the last chunk here of a table, in bytes from the table's begin.
  std::uint64_t reach_of(std::uint32_t table) const { return tables_.at(table).reach; }
  std::uint64_t bytes_of(std::uint32_t slot) const { return chunks_[slot].elements * 4; }

  // The parameters of a chunk in a plane; prepared before they are first written.
  float* at(std::uint32_t slot, std::uint32_t plane) const;
  void prepare(std::uint32_t slot, std::uint32_t plane);
  std::span<const std::byte> parameters(std::uint32_t slot, std::uint32_t plane) const;

  // A place for a gradient of `bytes`; empty when the bound is reached.
  runtime::buffer lease(std::size_t bytes) { return gradients_pool_.lease(bytes); }
  // Keeps a received gradient, or the table's gradient that starts at `in_place`, and names the
  // chunk's part of it.
  policies::payload_handle keep(runtime::buffer gradient);
  policies::payload_handle keep(const std::byte* in_place, std::uint32_t slot);
  // Or what starts here, in somebody else's memory.
  policies::payload_handle keep(const float* elsewhere) { return keep(payload{{}, elsewhere}); }
  const float* gradient(policies::payload_handle handle) const {
    return payloads_[handle - 1].data;
  }
  // Of one that was received.
  std::span<const std::byte> payload_bytes(policies::payload_handle handle) const {
    return payloads_[handle - 1].kept.bytes();
  }
  void release(policies::payload_handle handle);
  // How many of the gradients that are kept lie there.
  std::size_t kept_in(const runtime::window_map& where) const;

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
  };
  struct payload {
    runtime::buffer kept;  // empty: somebody else's memory
    const float* data = nullptr;
  };

  policies::payload_handle keep(payload what);

  runtime::size_pools gradients_pool_;
  std::map<std::uint32_t, runtime::arena> parameters_;  // by number of planes
  std::uint64_t bytes_kept_ = 0;
  std::map<std::uint32_t, table_memory> tables_;
  std::vector<chunk_memory> chunks_;  // by slot
  std::vector<payload> payloads_;     // by handle - 1
  std::vector<policies::payload_handle> payloads_free_;
};

}  // namespace tidegate::actors
