// Chunks that are stepped on a device (runtime/device): parameters and optimizer state live
// there. What the host shows of parameters, in the version buffers of endpoint_memory, is read
// back when somebody is to read it; gradients of the host are brought there piece by piece.
//
// One reactor thread, also of the device. Once warm, steps and what they show allocate nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "actors/chunks/chunk_engine.hpp"
#include "actors/chunks/joined_work.hpp"
#include "actors/store/endpoint_memory.hpp"
#include "runtime/device/device.hpp"
#include "runtime/device/updates/update_queue.hpp"
#include "runtime/transport/fifo.hpp"

namespace tidegate::actors {

class device_engine final : public chunk_engine, private endpoint_memory::stepping_device {
 public:
  // All outlive it. Errors: those of the device.
  static runtime::expected<std::unique_ptr<device_engine>> make(
      runtime::devices::device& on, endpoint_memory& endpoint, joined_work& work,
      const runtime::devices::queue_options& options);
  ~device_engine() override;
  device_engine(const device_engine&) = delete;
  device_engine& operator=(const device_engine&) = delete;

  runtime::status add_table(std::uint32_t table, std::span<const policies::owned_chunk> chunks,
                            const table_shape& shape) override;
  runtime::status make_chunk(std::uint32_t slot) override;
  void apply(const step& next, std::span<const policies::shard_effects::input> from) override;
  void write(const array_name& array, std::span<const float> values) override;
  void read(const array_name& array, std::span<float> to,
            std::shared_ptr<const void> keeps) override;
  void show(std::span<const std::uint32_t> slots, std::uint32_t version_buffer) override;
  runtime::status keep_up() override;
  runtime::status poll() override;
  void keep(std::shared_ptr<const void> owner) override;
  const runtime::kernels::beta_powers& powers(std::uint32_t slot) const override {
    return queue_->powers(chunks_[slot].index);
  }
  void set_powers(std::uint32_t slot, const runtime::kernels::beta_powers& powers) override {
    queue_->set_powers(chunks_[slot].index, powers);
  }

 private:
  using ticket = runtime::devices::ticket;
  struct chunk_place {
    runtime::devices::chunk_index index = 0;  // of the queue
    std::uint32_t table = 0;
    bool keeps_sums = false;
    std::vector<bool> shown;  // by version buffer: what the host sees is what the device has
  };

  device_engine(runtime::devices::device& on, endpoint_memory& endpoint, joined_work& work)
      : endpoint_(endpoint), device_(on), work_(work) {}

  pin pin_memory(std::span<const std::byte> memory) override;
  bool reads_on_device(std::uint32_t table) const override {
    return !tables_on_host_.contains(table);
  }
  runtime::expected<opened_window> open(const runtime::device_place& place) override;
  std::vector<runtime::device_place> parameters_of(std::uint32_t first_slot,
                                                   std::uint64_t known) override;
  runtime::devices::array_name name_of(const array_name& array) const;
  runtime::devices::input_place place_of(std::span<const float> memory) const;
  void give_up(const runtime::status& why);
  void prepare(std::uint32_t slot, std::uint32_t version_buffer);
  void register_shown(std::uint32_t slot, std::uint32_t version_buffer);
  std::optional<runtime::devices::host_memory> try_register(
      std::span<std::byte> memory, runtime::devices::host_access access);
  void has_begun() { work_.begin(joined_work::queue::chunks, queue_->submitted()); }

  endpoint_memory& endpoint_;
  runtime::devices::device& device_;
  joined_work& work_;
  std::vector<runtime::devices::host_memory> shown_;  // version buffers of endpoint_
  std::map<std::uint32_t, std::vector<bool>> tried_;  // likewise, by table
  std::unique_ptr<runtime::devices::update_queue> queue_;
  runtime::status failure_;                 // of taking more memory
  std::set<std::uint32_t> tables_on_host_;  // whose gradients are also read there
  std::vector<chunk_place> chunks_;         // by slot
  std::vector<runtime::devices::step_input> inputs_;
  runtime::fifo<std::pair<ticket, policies::payload_handle>> reading_;
  std::vector<std::pair<ticket, std::shared_ptr<const void>>> kept_;
};

}  // namespace tidegate::actors
