// What a simulated shard computes with beside its endpoint_memory: the state of optimizers,
// sums that replicas read, and seeds. It tells the checker what is done with each.
//
// Where the cluster's shards step on devices, steps are computed at once all the same, in
// arrays of their own: that is what the device will have. What others see of it, and what it
// reads of theirs, follows as device_work says. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "actors/shard/shard_shell.hpp"
#include "launch/simulate/cluster/device_work.hpp"
#include "launch/simulate/cluster/endpoint_process.hpp"
#include "launch/simulate/cluster/late_rows.hpp"

namespace tidegate::sim {

class shard_memory final : public actors::shard_memory {
 public:
  // All outlive it; `shell` is looked at when something is computed, not before.
  shard_memory(world& where, endpoint_process& owner, endpoint_memory& endpoint,
               const actors::shard_shell& shell);

  // The checkpoint of this number is of this clock, for an image of it to be compared with.
  void expect_cut(std::uint64_t job, std::uint64_t number, std::uint64_t clock);
  // Returns false if it was opened before.
  bool open_job(std::uint64_t job, bool is_bsp);
  bool is_bsp(std::uint64_t job) const { return jobs_.at(job).is_bsp; }
  // Whether its steps repeat those of a primary.
  void set_follows(bool follows) noexcept { follows_ = follows; }
  // Tells the checker what each chunk is when the shard becomes the primary. `is_late`: others
  // have taken it for dead. `before`: see checker::promoted.
  void tell_promoted(bool is_late, const std::set<process_id>& before);

  // What the host shows of a version buffer is what the device has there.
  void check_shown(std::uint32_t slot, std::uint32_t version_buffer, bool on_device);

  actors::ingress_memory& ingress() noexcept override { return endpoint_; }
  runtime::status add_table(const policies::open_table_call& table,
                            std::span<const policies::owned_chunk> chunks,
                            const actors::store_options& options) override;
  runtime::status make_chunk(const policies::open_table_call& table,
                             const policies::owned_chunk& chunk) override;
  void table_opened(const policies::open_table_call& table,
                    std::span<const policies::owned_chunk> chunks) override;
  void discard(std::uint32_t table) override {
    discarded_.insert(table);
    endpoint_.discard(table);
  }
  runtime::expected<chunk_progress> restore(const policies::checkpoint_reader& from,
                                            std::size_t table, runtime::storage& folder,
                                            const policies::owned_chunk& chunk) override;
  description describe(std::uint32_t slot) const override;
  void copy_rows(std::uint32_t slot, const policies::chunk_description& about, std::size_t i,
                 std::span<float> to, std::shared_ptr<const void> keeps) override {
    endpoint_.rows().copy_out(slot, about, i, to, std::move(keeps));
  }
  std::uint64_t rows_since(std::uint32_t slot, std::uint64_t clock) const override {
    return endpoint_.rows().rows_since(slot, clock);
  }
  void copy_out(const array_name& array, std::span<float> to,
                std::shared_ptr<const void> keeps) override;
  runtime::status poll() override;
  void show(std::span<const std::uint32_t> slots, std::uint32_t version_buffer) override;
  runtime::status apply(const effects::apply& step, inputs from) override;
  double measure(const effects::measure& step, inputs from) override;
  std::span<const std::byte> payload_bytes(policies::payload_handle handle) const override;
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
  void forget_sums() override { lent_.reset(); }
  policies::payload_handle sum_in_place(std::uint32_t slot,
                                        std::uint32_t version_buffer) override;

 private:
  struct job_options {
    bool is_bsp = false;
    std::map<std::uint64_t, std::uint64_t> cut_clocks;  // of checkpoints, by number
  };
  struct chunk_state {
    runtime::kernels::optimizer optimizer;
    runtime::kernels::beta_powers powers;
    policies::reduce_kind reduce = policies::reduce_kind::mean;
    float clip_norm = 0.0F;
    std::uint64_t job = 0;
    std::vector<float> state1, state2;
    // On a device: parameters by version buffer, and whether endpoint_memory shows them.
    std::vector<std::vector<float>> parameters;
    std::vector<bool> shown;
    policies::chunk_description about;
  };
  static constexpr std::uint32_t states = 2;  // of every optimizer here, used or not
  // By table, chunk and version buffer; whoever has mapped them keeps them.
  using sums = std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, region>;

  // The payload of an input, whose updates are added to `with`; null if it was given back,
  // which is told.
  const payload* summed(const effects::input& input, updates& with) const;
  runtime::status apply_rows(const effects::apply& step, inputs from);
  double measure_rows(const effects::measure& step, inputs from);
  void tell_applied(const effects::apply& step, updates with, std::span<const float> after);
  // What the checker has of the rows of a part; nothing of a chunk of a dense table.
  std::optional<row_model> rows_of(std::uint32_t slot,
                                   std::span<const float> first_values) const {
    const auto& about = chunks_.at(slot).about;
    if (about.rows.dim == 0) return std::nullopt;
    return row_model(about.rows, about.shape.front(), endpoint_.ids_of(slot), first_values);
  }
  void tell_opened(const policies::open_table_call& table, std::uint32_t slot);
  std::span<float> sum_room(std::uint32_t slot, std::uint64_t clock) const;
  // The parameters of a slot, as its device or the host has them; and to be written as a whole.
  std::span<float> parameters(std::uint32_t slot, std::uint32_t version_buffer);
  std::span<float> room(std::uint32_t slot, std::uint32_t version_buffer, bool steps);
  std::span<float> array(const array_name& name);
  // Members with windows see what is in the version buffer by now, as soon as the device does.
  void land(std::uint32_t slot, std::uint32_t version_buffer);
  void leave_sum(const effects::apply& step, const region& sum);
  // The device reads these payloads, as they are now.
  void read_later(inputs from);

  world& world_;
  endpoint_process& owner_;
  endpoint_memory& endpoint_;
  const actors::shard_shell& shell_;
  bool follows_ = false;
  std::map<std::uint64_t, job_options> jobs_;  // by token
  std::vector<chunk_state> chunks_;            // by slot
  std::set<std::uint32_t> discarded_;          // tables
  std::shared_ptr<sums> sums_ = std::make_shared<sums>();
  std::shared_ptr<sums> lent_;          // of the primary
  mutable std::vector<float> missing_;  // in place of a payload that was given back
  std::optional<device_work> device_;
  std::optional<late_row_engines> row_engines_;
  std::uint64_t looks_left_ = 0;  // until the device is lost; 0: it is not
};

}  // namespace tidegate::sim
