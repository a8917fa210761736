// The memory of a shard: what faces workers (endpoint_memory.hpp), the chunks that it owns,
// which are stepped where their engine has them (chunk_engine.hpp), and sums for a replica.
// Holds no CAF; one reactor thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "actors/chunks/chunk_engine.hpp"
#include "actors/chunks/joined_work.hpp"
#include "actors/chunks/rows_on_device.hpp"
#include "actors/shard/shard_memory.hpp"
#include "actors/store/endpoint_memory.hpp"
#include "policies/checkpoint/reader.hpp"
#include "policies/protocol/control_calls.hpp"
#include "policies/shard/chunk_seed.hpp"
#include "policies/shard/core.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/base/status.hpp"
#include "runtime/device/device.hpp"
#include "runtime/device/updates/update_queue.hpp"
#include "runtime/kernels/update.hpp"
#include "runtime/memory/arena.hpp"
#include "runtime/memory/window.hpp"

namespace tidegate::actors {

class shard_store final : public shard_memory {
 public:
  // Steps on the host.
  explicit shard_store(std::shared_ptr<runtime::memory_source> source);
  ~shard_store() override;
  shard_store(const shard_store&) = delete;
  shard_store& operator=(const shard_store&) = delete;
  // Steps on this device, of which it uses so much; where that is bounded (cache_bytes), as
  // much again for rows of tables. Errors: those of the device.
  static runtime::expected<std::unique_ptr<shard_store>> on_device(
      std::shared_ptr<runtime::memory_source> source,
      std::unique_ptr<runtime::devices::device> on,
      const runtime::devices::queue_options& options = {});

  // Where rows lie that do not fit the memory of their table.
  void set_rows_folder(std::string folder) { rows().set_folder(std::move(folder)); }
  std::vector<std::string> accounts_of_rows() const;

  ingress_memory& ingress() noexcept override { return memory_; }
  runtime::status add_table(const policies::open_table_call& table,
                            std::span<const policies::owned_chunk> chunks,
                            const store_options& options) override;
  runtime::status make_chunk(const policies::open_table_call& table,
                             const policies::owned_chunk& chunk) override;
  void forget_table(std::uint32_t table) override;
  void discard(std::uint32_t table) override;
  runtime::expected<chunk_progress> restore(const policies::checkpoint_reader& from,
                                            std::size_t table, runtime::storage& folder,
                                            const policies::owned_chunk& chunk) override;
  description describe(std::uint32_t slot) const override;
  void copy_rows(std::uint32_t slot, const policies::chunk_description& about, std::size_t i,
                 std::span<float> to, std::shared_ptr<const void> keeps) override {
    rows().copy_out(slot, about, i, to, std::move(keeps));
  }
  std::pmr::memory_resource* memory_of_copies(std::uint32_t slot) override {
    return has_rows(slot) ? rows().memory_of_copies(slot) : std::pmr::get_default_resource();
  }
  std::uint64_t rows_since(std::uint32_t slot, std::uint64_t clock) const override {
    return rows().rows_since(slot, clock);
  }
  void copy_out(const array_name& array, std::span<float> to,
                std::shared_ptr<const void> keeps) override;
  runtime::status poll() override;
  void show(std::span<const std::uint32_t> slots, std::uint32_t version_buffer) override {
    engine_->show(slots, version_buffer);
  }
  runtime::status apply(const effects::apply& step, inputs from) override;
  double measure(const effects::measure& step, inputs from) override;

  std::span<const std::byte> payload_bytes(policies::payload_handle handle) const override {
    return memory_.payload_bytes(handle);
  }
  std::span<const float> gradient(std::uint32_t slot,
                                  policies::payload_handle handle) const override;
  std::span<const float> sum_of(std::uint32_t slot, std::uint64_t clock) const override;
  void keep_sum(std::uint32_t slot, std::uint64_t clock,
                policies::payload_handle gradient) override;

  std::shared_ptr<const std::vector<float>> seed_of(
      const effects::seed& chunk, const policies::shard_core::seed_state& state) override;
  std::uint64_t seed_bytes_max(std::uint32_t slot, std::uint32_t workers) const override;
  runtime::buffer lease_seed(std::size_t bytes) override;
  runtime::expected<policies::chunk_seed> take_seed(std::uint32_t slot,
                                                    std::span<const std::byte> bytes) override;

  lent_place place_of_sums(std::uint32_t table) const override;
  runtime::status map_sums(std::uint32_t table, std::uint64_t bytes,
                           std::span<const std::byte> place) override;
  void forget_sums() override;
  policies::payload_handle sum_in_place(std::uint32_t slot,
                                        std::uint32_t version_buffer) override;

 private:
  struct chunk_state {
    std::size_t elements = 0;
    runtime::kernels::optimizer optimizer;
    std::uint32_t states = 0;  // arrays of the optimizer
    policies::reduce_kind reduce = policies::reduce_kind::mean;
    float clip_norm = 0.0F;
    bool starts_pushed = false;  // init_kind::pushed
    std::uint32_t table = 0;
    std::uint32_t keeps = 0;  // versions before the current one
    policies::chunk_description about;
    std::uint64_t sum_offset = 0;  // bytes, within the table's; the same in both processes
  };

  // Planes of sums are by clock.
  static constexpr auto sum_buffers = runtime::limits::clocks_in_flight_max;

  shard_store(std::shared_ptr<runtime::memory_source> source,
              std::unique_ptr<runtime::devices::device> on);
  row_store& rows() noexcept { return memory_.rows(); }
  const row_store& rows() const noexcept { return memory_.rows(); }
  bool has_rows(std::uint32_t slot) const { return rows().has(slot); }
  runtime::status add_rows(const policies::open_table_call& table,
                           std::span<const policies::owned_chunk> chunks,
                           const store_options& options);
  runtime::status open_device_rows();
  // Valid until the next call.
  std::span<const row_store::input> batches_of(inputs from);
  runtime::status apply_rows(const effects::apply& step, inputs from);
  static array_name state_name(std::uint32_t slot, std::uint32_t index);
  runtime::status check_inputs(std::uint32_t inputs) const;
  runtime::status add_sums(std::uint32_t table, std::span<const policies::owned_chunk> chunks);
  std::span<float> sum_at(std::uint32_t slot, std::uint64_t clock) const;

  std::unique_ptr<runtime::devices::device> device_;  // before what is registered with it
  std::unique_ptr<rows_on_device> device_rows_;       // before the rows; null: on the host
  std::uint64_t bytes_for_rows_ = 0;                  // of the device; 0: no bound
  bool tried_device_rows_ = false;
  endpoint_memory memory_;
  joined_work work_{memory_.work()};
  runtime::arena sums_{"tidegate-sums", sum_buffers};          // for the replica
  std::map<std::uint32_t, runtime::arena::place> sum_places_;  // by table
  std::vector<chunk_state> chunks_;                            // by slot
  std::vector<runtime::kernels::gradient> gradients_;          // of the step being measured
  std::vector<row_store::input> batches_;                      // of the step being made
  std::shared_ptr<runtime::window_map> primary_ =
      std::make_shared<runtime::window_map>();     // its memory, as a replica
  std::map<std::uint32_t, runtime::window> lent_;  // likewise: sums, by table
  runtime::size_pools seed_pool_{std::make_shared<runtime::heap_source>()};  // to receive in
  std::unique_ptr<chunk_engine> engine_;  // the last: it may work on all of the above
};

}  // namespace tidegate::actors
