// The memory of a shard: what faces workers (front_memory.hpp), and the optimizer state of the
// chunks it owns. Holds no CAF and no protocol; one reactor thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "actors/front_memory.hpp"
#include "policies/checkpoint_reader.hpp"
#include "policies/chunk_seed.hpp"
#include "policies/coordinator_core.hpp"
#include "policies/shard_core.hpp"
#include "policies/spec.hpp"
#include "runtime/base/status.hpp"
#include "runtime/kernels/update.hpp"
#include "runtime/memory/arena.hpp"

namespace tidegate::actors {

// How a job's tables are kept.
struct store_options {
  policies::reduce_kind reduce = policies::reduce_kind::mean;
  std::uint32_t workers = 1;
  std::uint32_t members = 1;  // of the workers and aggregators, that push here
  std::uint32_t keeps = 0;    // shard_core::versions_kept
  bool replicated = false;    // has room for the sums of steps
};

class shard_store {
 public:
  explicit shard_store(std::shared_ptr<runtime::memory_source> source)
      : memory_(std::move(source)) {}

  front_memory& memory() noexcept { return memory_; }

  // Makes chunks, whose slots are the next unused ones, with their initial values. Errors:
  // those of front_memory.
  runtime::status add_table(const policies::open_table_call& table,
                            std::span<const policies::owned_chunk> chunks,
                            const store_options& options);

  // The chunks just added are as in the checkpoint, whose table is `table` there; tells the
  // core of each. Errors: those of the storage; corrupt.
  runtime::status restore(const policies::checkpoint_reader& from, std::size_t table,
                          runtime::storage& folder,
                          std::span<const policies::owned_chunk> chunks,
                          policies::shard_core& core);
  // What a checkpoint says of a chunk in a plane, but for how far its workers are; and its
  // arrays, which stay as they are until the next step.
  struct image {
    std::uint32_t table = 0;
    policies::chunk_description about;
    std::array<std::span<const float>, policies::chunk_arrays_max> arrays;
  };
  image image_of(std::uint32_t slot, std::uint32_t plane);

  // A chunk as a replica is handed it: in bytes, and taken in.
  std::vector<float> seed_of(const policies::shard_effects::seed& what,
                             const policies::shard_core::seed_state& state);
  // At most, for a job of so many workers.
  std::uint64_t seed_bytes_max(std::uint32_t slot, std::uint32_t workers) const;
  // Errors: corrupt (not of this chunk).
  runtime::expected<policies::chunk_seed> take_seed(std::uint32_t slot,
                                                    std::span<const std::byte> bytes);
  // The sum of a step that was kept (apply::keeps_sum) until the next but one.
  std::span<const float> sum_of(std::uint32_t slot, std::uint64_t clock) const;
  // Likewise of a step with one gradient.
  void keep_sum(std::uint32_t slot, std::uint64_t clock, policies::payload_handle gradient);
  // Where the other process of the group reads them: chunk by chunk, planes by clock.
  static constexpr auto sum_planes = runtime::limits::clocks_in_flight_max;
  front_memory::table_place place_of_sums(std::uint32_t table) const;
  // Of a chunk, within a plane; the same in both processes.
  std::uint64_t sum_offset(std::uint32_t slot) const { return chunks_[slot].sum_offset; }

  // One optimizer step. inputs ascend in rank.
  void apply(const policies::shard_effects::apply& what,
             std::span<const policies::shard_effects::input> inputs);

 private:
  struct chunk_state {
    std::size_t elements = 0;
    runtime::kernels::optimizer optimizer;
    runtime::kernels::adam_powers powers;
    policies::reduce_kind reduce = policies::reduce_kind::mean;
    float* state1 = nullptr;
    float* state2 = nullptr;
    std::uint32_t table = 0;
    policies::chunk_description about;
    std::uint64_t sum_offset = 0;  // bytes, within the table's
  };

  runtime::expected<float*> add_state(std::uint64_t bytes);
  runtime::status add_sums(std::uint32_t table, std::span<const policies::owned_chunk> chunks);
  std::span<float> sum_at(std::uint32_t slot, std::uint64_t clock) const;

  front_memory memory_;
  runtime::arena states_{"tidegate-state", 1};
  runtime::arena sums_{"tidegate-sums", sum_planes};           // for the replica
  std::map<std::uint32_t, runtime::arena::place> sum_places_;  // by table
  std::vector<chunk_state> chunks_;                            // by slot
  std::vector<runtime::kernels::gradient> gradients_;          // of the step being made
};

}  // namespace tidegate::actors
