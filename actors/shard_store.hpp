// The memory of a shard: parameters and optimizer state of the chunks it owns, received
// gradients, and parameters that are being sent.
//
// A step writes new parameters in place when nobody is reading the old ones, else into a fresh
// block, so that a pull under way is never torn and nothing is copied. Holds no CAF and no
// protocol; one reactor thread.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "policies/shard_core.hpp"
#include "policies/spec.hpp"
#include "runtime/base/status.hpp"
#include "runtime/kernels/update.hpp"
#include "runtime/memory/buffer.hpp"

namespace tidegate::actors {

class shard_store {
 public:
  explicit shard_store(std::shared_ptr<runtime::memory_source> source)
      : gradients_pool_(source), versions_pool_(std::move(source)) {}

  // Makes a chunk for `slot` (the next unused one) with its initial values, for a job of
  // `workers`. Errors: over_limit (memory is short).
  runtime::status add_chunk(const policies::owned_chunk& chunk,
                            const policies::optimizer_spec& optimizer,
                            const policies::init_spec& init, std::uint64_t init_key,
                            float scale, std::uint32_t workers);

  // A place for a gradient of `bytes`; empty when the bound is reached.
  runtime::buffer lease(std::size_t bytes) { return gradients_pool_.lease(bytes); }
  // Keeps a received gradient and names it.
  policies::payload_handle keep(runtime::buffer gradient);
  void release(policies::payload_handle payload);

  // One optimizer step. inputs ascend in rank.
  void apply(std::uint32_t slot, std::span<const policies::shard_effects::input> inputs);
  // The parameters as they are now; the handle keeps this version unchanged.
  // At most two sends per worker are under way for a chunk, which bounds the versions alive.
  bool may_send(std::uint32_t slot) const noexcept;
  runtime::buffer begin_send(std::uint32_t slot);
  void end_send(std::uint32_t slot) noexcept;

 private:
  struct chunk_memory {
    std::size_t elements = 0;
    std::uint32_t workers = 0;
    std::size_t sends_under_way = 0;
    runtime::kernels::optimizer optimizer;
    runtime::kernels::adam_powers powers;
    float scale = 1.0F;
    runtime::buffer parameters;
    runtime::buffer state1;
    runtime::buffer state2;
  };

  // Apart, so that gradients cannot take the blocks that a step needs; before what leases from
  // them.
  runtime::size_pools gradients_pool_;
  runtime::size_pools versions_pool_;
  std::uint64_t bytes_kept_ = 0;  // parameters and optimizer state
  std::vector<chunk_memory> chunks_;
  std::vector<runtime::buffer> payloads_;  // by handle - 1
  std::vector<policies::payload_handle> payloads_free_;
  std::vector<runtime::kernels::gradient> gradients_;  // of the step being made
};

}  // namespace tidegate::actors
