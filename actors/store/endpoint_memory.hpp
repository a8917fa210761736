// The memory of the side that faces workers, in shards and aggregators alike: parameters that
// they read, and the gradients that they pushed and that wait to be summed.
//
// Parameters lie in shared segments, the chunks of a table one after another, one copy per
// version buffer (policies/shard/core.hpp says which version buffer holds what). Gradients are
// received into blocks of a pool, or stay where their worker wrote them. Holds no CAF; one
// reactor thread.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "actors/seam/ingress_memory.hpp"
#include "actors/store/row_store.hpp"
#include "policies/protocol/double_buffer.hpp"
#include "policies/shard/core.hpp"
#include "runtime/base/status.hpp"
#include "runtime/memory/arena.hpp"
#include "runtime/memory/buffer.hpp"
#include "runtime/memory/window.hpp"
#include "runtime/transport/device_places.hpp"

namespace tidegate::actors {

class endpoint_memory final : public ingress_memory {
 public:
  explicit endpoint_memory(std::shared_ptr<runtime::memory_source> source);

  // A device that steps what lies here, and reads gradients where members have them.
  class stepping_device {
   public:
    using pin = std::shared_ptr<const void>;
    struct opened_window {
      std::shared_ptr<const void> memory;  // until it is let go of
      std::span<const std::byte> bytes;    // for the device alone
    };

    virtual ~stepping_device() = default;

    // Called with each stretch of host memory that is mapped. What it returns is let go of
    // before the memory is unmapped.
    virtual pin pin_memory(std::span<const std::byte> memory) = 0;
    // Returns true if steps of this table may read gradients on the device.
    virtual bool reads_on_device(std::uint32_t table) const = 0;
    // Errors: unavailable (no window of this device), corrupt.
    virtual runtime::expected<opened_window> open(const runtime::device_place& place) = 0;
    // device_parameters() of the table that begins with this slot.
    virtual std::vector<runtime::device_place> parameters_of(std::uint32_t first_slot,
                                                             std::uint64_t known) = 0;
  };
  // It outlives this, or is taken back with nullptr.
  void set_device(stepping_device* device) noexcept { device_ = device; }

  // Room for chunks, whose slots are the next unused ones; its pages come with prepare().
  // Errors: over_limit, io_error (memory is short); then the slots are used up, and the table
  // may be added again with others.
  runtime::status add_table(std::uint32_t table, std::span<const policies::owned_chunk> chunks,
                            const table_sizes& sizes);
  // Likewise the parts of a table of rows, which row_store keeps.
  runtime::status add_rows(const policies::open_table_call& table,
                           std::span<const policies::owned_chunk> chunks,
                           policies::reduce_kind reduce, float clip_norm, std::uint32_t keeps);
  row_store& rows() noexcept { return rows_; }
  const row_store& rows() const noexcept { return rows_; }
  runtime::buffer lease_rows(const runtime::frame_header& header, std::uint32_t slot) override {
    return rows_.lease(header, slot);
  }
  runtime::status take_rows(const runtime::frame_header& header, std::uint32_t slot,
                            runtime::buffer& rows) override {
    return rows_.take(header, slot, rows);
  }
  runtime::buffer lease_answer(std::uint32_t slot,
                               std::span<const std::byte> request) override {
    return rows_.lease_answer(slot, request);
  }
  row_answer answer_rows(const runtime::frame_header&, std::uint32_t slot,
                         std::uint32_t version_buffer, std::span<const std::byte> request,
                         const runtime::buffer& into) override {
    return rows_.answer(slot, version_buffer, request, into);
  }
  // What else its owner needs could not be had: its memory is given back, not its address
  // space.
  void forget_table(std::uint32_t table) {
    discard(table);
    tables_.erase(table);
  }
  // The slots of a table that cannot be made are used up all the same.
  void use_up(std::uint32_t table, std::span<const policies::owned_chunk> chunks);
  // shard_memory::discard(), of parameters.
  void discard(std::uint32_t table);
  // Where the chunks of a table lie, from the first on; they fill `bytes`.
  struct table_place {
    runtime::shm_handle name;
    std::uint64_t bytes = 0;
  };
  table_place place_of(std::uint32_t table) const;
  // The end of the last chunk here of a table, in bytes from the table's begin.
  std::uint64_t reach_of(std::uint32_t table) const { return tables_.at(table).reach; }
  runtime::place_wire place_of_parameters(std::uint32_t table) const override {
    return runtime::encode(place_of(table).name);
  }
  std::uint64_t bytes_of(std::uint32_t slot) const override {
    return rows_.has(slot) ? rows_.bytes_of(slot) : chunks_[slot].elements * sizeof(float);
  }
  std::uint64_t first_of(std::uint32_t slot) const override { return chunks_[slot].first; }

  // The parameters of all chunks of a table in a version buffer.
  std::span<std::byte> bytes_of_table(std::uint32_t table, std::uint32_t version_buffer) const;
  // The parameters of a chunk in a version buffer; prepared before they are first written.
  float* at(std::uint32_t slot, std::uint32_t version_buffer) const;
  void prepare(std::uint32_t slot, std::uint32_t version_buffer);
  std::span<const std::byte> payload_of(const runtime::frame_header& reply, std::uint32_t slot,
                                        std::uint32_t version_buffer) override;

  runtime::buffer lease(std::size_t bytes) override { return gradients_pool_.lease(bytes); }
  runtime::buffer lease_name(std::size_t bytes) override { return names_pool_.lease(bytes); }
  runtime::status map_gradients(const policies::member_key& member, std::uint32_t table,
                                std::span<const std::byte> place) override;
  policies::payload_handle keep(runtime::buffer gradient) override;
  policies::payload_handle keep_call(runtime::buffer call) override {
    return keep(std::move(call));
  }
  std::span<const std::byte> call_bytes(policies::payload_handle call) const override {
    return payload_bytes(call);
  }
  policies::payload_handle keep_in_place(const policies::member_key& member,
                                         std::uint32_t table, std::uint32_t half,
                                         std::uint32_t slot, bool on_device) override;
  runtime::status map_on_device(const policies::member_key& member, std::uint32_t table,
                                std::span<const std::byte> places) override;
  std::vector<runtime::device_place> device_parameters(std::uint32_t table,
                                                       std::uint64_t known) override;
  // Keeps what starts here, in somebody else's memory.
  policies::payload_handle keep(const float* elsewhere) {
    return keep(payload{.kept = {}, .data = elsewhere});
  }
  const float* gradient(policies::payload_handle handle) const {
    return payloads_[handle - 1].data;
  }
  // Returns true if the device alone can read it.
  bool is_on_device(policies::payload_handle handle) const {
    return payloads_[handle - 1].on_device;
  }
  // Of one that was received.
  std::span<const std::byte> payload_bytes(policies::payload_handle handle) const {
    return payloads_[handle - 1].kept.bytes();
  }
  void release(policies::payload_handle handle) override;
  // Work reads the payload from now on, and has read it: until then it stays, released or not.
  void begin_reading(policies::payload_handle handle) { ++payloads_[handle - 1].readers; }
  void end_reading(policies::payload_handle handle);
  void forget(const policies::member_key& member) override;

 private:
  struct table_memory {
    std::uint32_t version_buffers = 0;  // which arena
    runtime::arena::place place;
    std::uint64_t reach = 0;
    std::uint64_t kept = 0;  // bytes of bytes_kept_
    std::uint32_t first_slot = 0;
    std::vector<bool> prepared;  // by chunk, and version buffer in it
  };
  struct chunk_memory {
    std::uint32_t table = 0;
    std::uint64_t first = 0;   // element of the table
    std::uint64_t offset = 0;  // in bytes within the table's place
    std::size_t elements = 0;
  };
  struct payload {
    runtime::buffer kept;  // empty: somebody else's memory
    const float* data = nullptr;
    bool on_device = false;
    std::uint32_t readers = 0;
    bool is_released = false;
  };

  struct opened_place {
    runtime::device_place name;
    stepping_device::opened_window window;
  };
  using device_halves = std::array<const std::byte*, policies::gradient_halves>;

  struct member_memory {
    runtime::window_map memory;
    std::vector<stepping_device::pin> pins;              // of it; go before it
    std::map<std::uint32_t, runtime::window> gradients;  // by table
    std::vector<opened_place> windows;
    std::map<std::uint32_t, device_halves> on_device;  // by table

    bool holds(const float* gradient) const;
  };
  // Of a process that has been replaced, mapped as long as pushes lie in it that are not summed
  // yet.
  struct retired_memory {
    std::size_t pushes = 0;
    member_memory of;
  };

  policies::payload_handle keep(payload kept);
  void free(policies::payload_handle handle);
  // How many of the gradients that are kept lie there.
  std::size_t kept_in(const member_memory& memory) const;
  static runtime::expected<const std::byte*> open_on(stepping_device& device,
                                                     member_memory& home,
                                                     const runtime::device_place& place,
                                                     std::uint64_t bytes);
  void count_off(const float* gradient);

  row_store rows_;
  runtime::size_pools gradients_pool_;
  runtime::size_pools names_pool_;
  std::map<policies::member_key, member_memory> members_;
  std::list<retired_memory> retired_;  // whose places stay: pins must go before their memory
  std::map<std::uint32_t, runtime::arena> parameters_;  // by number of version buffers
  std::uint64_t bytes_kept_ = 0;
  std::map<std::uint32_t, table_memory> tables_;
  std::vector<chunk_memory> chunks_;  // by slot
  std::vector<payload> payloads_;     // by handle - 1
  std::vector<policies::payload_handle> payloads_free_;
  stepping_device* device_ = nullptr;
};

}  // namespace tidegate::actors
