// The memory of an aggregator: what faces its members (endpoint_memory.hpp), and the sums that
// are on their way upstream, one per node and clock parity. Holds no CAF and no protocol; one
// reactor thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "actors/aggregator/aggregator_memory.hpp"
#include "actors/store/endpoint_memory.hpp"
#include "policies/aggregator/core.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/base/status.hpp"
#include "runtime/kernels/update.hpp"
#include "runtime/memory/arena.hpp"

namespace tidegate::actors {

class aggregator_store final : public aggregator_memory {
 public:
  explicit aggregator_store(std::shared_ptr<runtime::memory_source> source)
      : memory_(std::move(source)) {}

  ingress_memory& ingress() noexcept override { return memory_; }
  runtime::status add_table(std::uint32_t table, std::span<const policies::owned_chunk> chunks,
                            const table_sizes& sizes, std::size_t nodes) override;
  std::span<const std::byte> sum(std::uint32_t slot, const policies::upstream_frame& push,
                                 inputs from) override;
  std::span<const std::byte> retransmit_sum(const policies::upstream_frame& push) override;
  std::span<std::byte> room(std::uint32_t slot, std::uint32_t version_buffer) override;

 private:
  std::byte* sum_at(std::uint32_t slot, std::uint32_t version_buffer) const;
  // Likewise, with the pages of what is to be written.
  std::byte* room_of_sum(std::uint32_t slot, std::uint32_t version_buffer);
  static std::uint32_t version_buffer_of(std::uint32_t node, std::uint64_t clock) {
    return static_cast<std::uint32_t>(node * window + clock % window);
  }
  static constexpr auto window = runtime::limits::clocks_in_flight_max;
  struct chunk_place {
    std::uint32_t table = 0;
    std::uint64_t offset = 0;  // in bytes within the table's place
    std::size_t elements = 0;
    runtime::kernels::combination rule;
    std::vector<bool> prepared;  // by version buffer of its sums
  };

  endpoint_memory memory_;
  std::unique_ptr<runtime::arena>
      sums_;  // version buffers: node by node, clock parity by parity
  std::map<std::uint32_t, runtime::arena::place> tables_;
  std::vector<chunk_place> chunks_;                    // by slot
  std::vector<runtime::kernels::gradient> gradients_;  // of the sum being made
};

}  // namespace tidegate::actors
