// A simulated aggregator process: its shell (actors/aggregator) and its memory. One thread.
#pragma once

#include <map>
#include <string>
#include <tuple>

#include "actors/aggregator/aggregator_shell.hpp"
#include "launch/simulate/cluster/endpoint_process.hpp"

namespace tidegate::sim {

class aggregator_process final : public shell_process<actors::aggregator_shell>,
                                 private actors::aggregator_memory {
 public:
  aggregator_process(world& where, process_id id, std::uint32_t host, std::string job,
                     std::uint32_t index, std::uint32_t incarnation);

  void open_table(const policies::open_table_call& call, const answer_to& reply) override {
    reply({shell_.open_table(call), {}});
  }
  void upstream_moved(const policies::shard_moved& move) override;

 private:
  actors::aggregator_shell& shell() override { return shell_; }
  void ask_to_join(process_id coordinator, answer_to back) override;

  actors::ingress_memory& ingress() noexcept override { return memory_; }
  runtime::status add_table(std::uint32_t table, std::span<const policies::owned_chunk> chunks,
                            const actors::table_sizes& sizes, std::size_t nodes) override;
  std::span<const std::byte> sum(std::uint32_t slot, const policies::upstream_frame& push,
                                 inputs from) override;
  std::span<const std::byte> retransmit_sum(const policies::upstream_frame& push) override;
  std::span<std::byte> room(std::uint32_t slot, std::uint32_t version_buffer) override;

  std::string job_;
  std::uint32_t number_;
  std::uint32_t incarnation_;
  // Sums on their way, by slot, node and parity of the clock.
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, region> sums_;
  std::map<std::uint32_t, runtime::kernels::combination> rules_;  // by table
  actors::aggregator_shell shell_{*this, *this};
};

}  // namespace tidegate::sim
