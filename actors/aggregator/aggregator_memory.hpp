// The memory of an aggregator, as its shell sees it: what faces its members, and the sums that
// are on their way upstream. One thread, the home's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "actors/seam/ingress_memory.hpp"
#include "policies/aggregator/core.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::actors {

class aggregator_memory {
 public:
  using inputs = std::span<const policies::shard_effects::input>;

  virtual ~aggregator_memory() = default;

  virtual ingress_memory& ingress() noexcept = 0;
  // All chunks of a table, of which this process keeps the parameters and `nodes` sums, the
  // same number for all tables. Errors: over_limit, io_error (memory is short).
  virtual runtime::status add_table(std::uint32_t table,
                                    std::span<const policies::owned_chunk> chunks,
                                    const table_sizes& sizes, std::size_t nodes) = 0;
  // The sum of inputs, ascending in rank, which this push of a slot takes along; valid until
  // that of the clock after the next. A single input stays where it is.
  virtual std::span<const std::byte> sum(std::uint32_t slot,
                                         const policies::upstream_frame& push, inputs from) = 0;
  // The sum that this push took along before.
  virtual std::span<const std::byte> retransmit_sum(const policies::upstream_frame& push) = 0;
  // Where the parameters of a slot are received, to be read in this version buffer.
  virtual std::span<std::byte> room(std::uint32_t slot, std::uint32_t version_buffer) = 0;
};

}  // namespace tidegate::actors
