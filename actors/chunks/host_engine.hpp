// Chunks that are stepped where workers read them, by the reactor's thread: everything has
// happened when a call returns.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "actors/chunks/chunk_engine.hpp"
#include "actors/store/endpoint_memory.hpp"
#include "runtime/memory/arena.hpp"

namespace tidegate::actors {

class host_engine final : public chunk_engine {
 public:
  // `endpoint` outlives it.
  explicit host_engine(endpoint_memory& endpoint) : endpoint_(endpoint) {}

  runtime::status add_table(std::uint32_t table, std::span<const policies::owned_chunk> chunks,
                            const table_shape& shape) override;
  runtime::status make_chunk(std::uint32_t slot) override;
  void discard(std::uint32_t table) override;
  void apply(const step& next, std::span<const policies::shard_effects::input> from) override;
  void write(const array_name& array, std::span<const float> values) override;
  void read(const array_name& array, std::span<float> to,
            std::shared_ptr<const void> keeps) override;
  void show(std::span<const std::uint32_t>, std::uint32_t) override {}
  runtime::status poll() override { return {}; }
  runtime::status keep_up() override { return {}; }
  void keep(std::shared_ptr<const void>) override {}
  const runtime::kernels::beta_powers& powers(std::uint32_t slot) const override {
    return chunks_[slot].powers;
  }
  void set_powers(std::uint32_t slot, const runtime::kernels::beta_powers& powers) override {
    chunks_[slot].powers = powers;
  }

 private:
  struct chunk_state {
    std::uint32_t table = 0;
    std::size_t elements = 0;
    std::uint32_t states = 0;
    float* state1 = nullptr;
    float* state2 = nullptr;
    std::vector<runtime::arena::place> places;  // of the states
    runtime::kernels::beta_powers powers;
  };

  runtime::expected<float*> add_state(chunk_state& chunk);
  float* at(const array_name& array) const;

  endpoint_memory& endpoint_;
  runtime::arena states_{"tidegate-state", 1};
  std::vector<chunk_state> chunks_;                    // by slot
  std::vector<runtime::kernels::gradient> gradients_;  // of the step being made
};

}  // namespace tidegate::actors
