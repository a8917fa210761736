// The memory of a shard: what faces workers (front_memory.hpp), and the optimizer state of the
// chunks it owns. Holds no CAF and no protocol; one reactor thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "actors/front_memory.hpp"
#include "policies/coordinator_core.hpp"
#include "policies/shard_core.hpp"
#include "policies/spec.hpp"
#include "runtime/base/status.hpp"
#include "runtime/kernels/update.hpp"
#include "runtime/memory/arena.hpp"

namespace tidegate::actors {

// How a job's tables are kept.
struct store_options {
  float scale = 1.0F;  // of the summed gradients
  std::uint32_t workers = 1;
  std::uint32_t members = 1;  // of the workers and aggregators, that push here
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

  // One optimizer step. inputs ascend in rank.
  void apply(const policies::shard_effects::apply& what,
             std::span<const policies::shard_effects::input> inputs);

 private:
  struct chunk_state {
    std::size_t elements = 0;
    runtime::kernels::optimizer optimizer;
    runtime::kernels::adam_powers powers;
    float scale = 1.0F;
    float* state1 = nullptr;
    float* state2 = nullptr;
  };

  runtime::expected<float*> add_state(std::uint64_t bytes);

  front_memory memory_;
  runtime::arena states_{"tidegate-state", 1};
  std::vector<chunk_state> chunks_;                    // by slot
  std::vector<runtime::kernels::gradient> gradients_;  // of the step being made
};

}  // namespace tidegate::actors
