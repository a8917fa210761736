// The memory of a simulated shard or aggregator: parameters in version buffers, pushes that
// wait, the gradients of workers that it has mapped. As actors/store/endpoint_memory, with the
// updates that each payload stands for written beside it, for the checker. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "actors/seam/ingress_memory.hpp"
#include "actors/shard/shard_memory.hpp"
#include "actors/store/row_store.hpp"
#include "launch/simulate/cluster/checker.hpp"
#include "launch/simulate/cluster/memory_view.hpp"
#include "policies/shard/ingress_core.hpp"

namespace tidegate::sim {

// What is read after it was given back is no number.
void spoil(std::span<float> values);

// A gradient, or a sum of some: received, or in the memory of its worker.
struct payload {
  std::span<float> values;
  updates of;
  runtime::buffer received;
  region mapped;
  std::uint32_t readers = 0;
  bool is_released = false;
};

// The place of a process's memory, as its frames say it: the process.
runtime::place_wire wire_of(process_id owner);
process_id owner_in(std::span<const std::byte> place);

class endpoint_process;

class endpoint_memory final : public actors::ingress_memory {
 public:
  explicit endpoint_memory(endpoint_process& owner) : owner_(owner) {
    names_.allow(runtime::place_wire_bytes, names_most);
    names_.allow(actors::device_gradients_bytes, names_most);
  }

  // Slots are the next unused ones; room for `members` pushes of two clocks.
  void add_table(std::uint32_t table, std::span<const policies::owned_chunk> chunks,
                 std::uint32_t members);
  // Likewise the parts of a table of rows.
  runtime::status add_rows(const policies::open_table_call& table,
                           std::span<const policies::owned_chunk> chunks,
                           const actors::store_options& options);
  // Nobody is to see what lies there any more.
  void discard(std::uint32_t table);
  actors::row_store& rows() noexcept { return rows_; }
  // All ids that a part of a table of rows can have, ascending.
  const std::vector<std::uint64_t>& ids_of(std::uint32_t slot) const {
    return chunks_.at(slot).ids;
  }
  // These values, and of a part how its rows were used.
  served_values served_of(std::uint32_t slot, std::span<const float> values) const;
  bool has_rows(std::uint32_t slot) const { return rows_.has(slot); }
  // Of a part of a table of rows, a copy of all that there can be.
  memory_view parameters(std::uint32_t slot, std::uint32_t version_buffer);
  // The same, to be written as a whole: for `steps`, by a step of the optimizer.
  memory_view room(std::uint32_t slot, std::uint32_t version_buffer, bool steps);
  // The same on a device, where members have windows to it.
  region on_device(std::uint32_t slot, std::uint32_t version_buffer);
  // The chunks are stepped on a device.
  void use_device() noexcept { has_device_ = true; }
  // Gradients of this table are read on the host all the same.
  void read_on_host(std::uint32_t table) { tables_on_host_.insert(table); }
  // Version buffers that nobody may read, is_read(version_buffer), are no numbers from now on.
  template <class IsRead>
  void spoil_version_buffers(std::uint32_t slot, const IsRead& is_read) {
    auto& chunk = chunks_.at(slot);
    if (has_rows(slot)) return;  // row_part keeps what is read of them
    for (std::uint32_t version_buffer = 0; version_buffer < chunk.spoiled.size();
         ++version_buffer) {
      // The core is ahead: a step may be due that reads what the last one has written.
      if (chunk.spoiled[version_buffer] || version_buffer == chunk.newest ||
          is_read(version_buffer))
        continue;
      chunk.spoiled[version_buffer] = true;
      spoil(parameters(slot, version_buffer).values());
      if (has_device_) spoil(*on_device(slot, version_buffer));
    }
  }
  // As mapped by a worker: stays when this process is gone.
  using version_buffers = std::shared_ptr<std::vector<region>>;
  version_buffers version_buffers_of(std::uint32_t slot) const {
    return chunks_.at(slot).version_buffers;
  }
  version_buffers device_buffers_of(std::uint32_t slot) const {
    return chunks_.at(slot).device_buffers;
  }
  std::uint64_t bytes_of(std::uint32_t slot) const override {
    return has_rows(slot) ? rows_.bytes_of(slot) : chunks_.at(slot).elements * sizeof(float);
  }
  std::uint32_t table_of(std::uint32_t slot) const { return chunks_.at(slot).table; }
  std::uint32_t chunk_of(std::uint32_t slot) const { return chunks_.at(slot).chunk; }
  std::uint64_t first_of(std::uint32_t slot) const override { return chunks_.at(slot).first; }
  const std::vector<std::uint32_t>& slots_of(std::uint32_t table) const {
    return tables_.at(table);
  }

  runtime::place_wire place_of_parameters(std::uint32_t table) const override;
  std::span<const std::byte> payload_of(const runtime::frame_header& reply, std::uint32_t slot,
                                        std::uint32_t version_buffer) override;
  runtime::buffer lease_rows(const runtime::frame_header& header, std::uint32_t slot) override;
  runtime::status take_rows(const runtime::frame_header& header, std::uint32_t slot,
                            runtime::buffer& rows) override {
    return rows_.take(header, slot, rows);
  }
  runtime::buffer lease_answer(std::uint32_t slot, std::span<const std::byte> request) override;
  actors::row_answer answer_rows(const runtime::frame_header& reply, std::uint32_t slot,
                                 std::uint32_t version_buffer,
                                 std::span<const std::byte> request,
                                 const runtime::buffer& into) override;
  // For a push within the credits, of which there is always one.
  runtime::buffer lease(std::size_t bytes) override;
  runtime::buffer lease_name(std::size_t bytes) override { return names_.lease(bytes); }
  // For what another process of the group sends.
  runtime::buffer lease_any(std::size_t bytes);
  policies::payload_handle keep(runtime::buffer gradient) override;
  policies::payload_handle keep(payload kept);
  policies::payload_handle keep_call(runtime::buffer call) override;
  std::span<const std::byte> call_bytes(policies::payload_handle call) const override {
    return kept_.at(call).received.bytes();
  }
  runtime::status map_gradients(const policies::member_key& member, std::uint32_t table,
                                std::span<const std::byte> place) override;
  policies::payload_handle keep_in_place(const policies::member_key& member,
                                         std::uint32_t table, std::uint32_t half,
                                         std::uint32_t slot, bool on_device) override;
  runtime::status map_on_device(const policies::member_key& member, std::uint32_t table,
                                std::span<const std::byte> places) override;
  std::vector<runtime::device_place> device_parameters(std::uint32_t table,
                                                       std::uint64_t known) override;
  void forget(const policies::member_key& member) override;
  // Null for one that was given back.
  const payload* find(policies::payload_handle handle) const {
    const auto at = kept_.find(handle);
    return at == kept_.end() ? nullptr : &at->second;
  }
  void release(policies::payload_handle handle) override;
  // A device reads the payload from now on, and has read it: until then it stays.
  void begin_reading(policies::payload_handle handle) { ++kept_.at(handle).readers; }
  void end_reading(policies::payload_handle handle);

  std::size_t kept() const noexcept { return kept_.size(); }
  std::size_t leased() const noexcept { return gradients_.leased() + rows_.leased(); }

 private:
  static constexpr std::size_t names_most = 256;  // on their way at a time

  struct chunk_state {
    std::uint32_t table = 0;
    std::uint32_t chunk = 0;
    std::uint64_t first = 0;
    std::uint64_t elements = 0;
    endpoint_memory::version_buffers version_buffers;
    endpoint_memory::version_buffers device_buffers;  // as members with windows see them
    std::vector<bool> spoiled;                        // by version buffer
    std::uint32_t newest = 0;        // version buffer that the last step has written
    std::vector<std::uint64_t> ids;  // of a part of a table of rows
  };

  endpoint_process& owner_;
  actors::row_store rows_{std::make_shared<runtime::heap_source>()};
  runtime::size_pools gradients_{std::make_shared<runtime::heap_source>()};
  runtime::size_pools names_{std::make_shared<runtime::heap_source>()};
  runtime::size_pools received_{std::make_shared<runtime::heap_source>()};
  std::vector<chunk_state> chunks_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> tables_;
  // Halves of whole tables, by table.
  using halves_by_table = std::map<std::uint32_t, std::vector<region>>;
  using member_gradients = std::map<policies::member_key, halves_by_table>;
  member_gradients members_;
  member_gradients on_device_;
  bool has_device_ = false;
  std::set<std::uint32_t> tables_on_host_;
  void free(std::map<policies::payload_handle, payload>::iterator at);

  std::map<policies::payload_handle, payload> kept_;
  policies::payload_handle last_ = 0;
};

}  // namespace tidegate::sim
