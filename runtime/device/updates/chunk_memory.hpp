// Device memory of chunks: version buffers of parameters, the optimizer's state, sums that are
// kept. The chunks of a table lie side by side in each of them, as in a shard's shared segments
// (actors/store/endpoint_memory.hpp), so that one window shows the parameters of a table.
//
// Thread rule: that of the device, which outlives it.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/device/device.hpp"
#include "runtime/device/updates/device_arena.hpp"
#include "runtime/device/updates/requests.hpp"

namespace tidegate::runtime::devices {

class chunk_memory {
 public:
  explicit chunk_memory(device& owner) : device_(owner), arena_(owner) {}

  // Takes memory for a table, with version buffer 0 of its parameters, and queues that it be
  // zero; returns its first chunk. Errors: those of device::allocate; then nothing was taken.
  expected<chunk_index> add_table(const table_shape& shape, stream on);
  // Takes memory for another version buffer of the chunk's table, unless there is some already,
  // and queues that it be zero. Errors: those of device::allocate.
  status prepare(chunk_index chunk, std::uint32_t version_buffer, stream on);

  // How another process finds a version buffer of a table: from `offset` of the window on.
  // Errors: those of device::name_window.
  struct place {
    window_name name;
    std::uint64_t offset = 0;  // bytes
    std::uint64_t bytes = 0;
  };
  expected<place> place_of(chunk_index first, std::uint32_t version_buffer) const;

  std::uint64_t elements(chunk_index chunk) const { return chunks_[chunk].elements; }
  // Asserts that there is such an array.
  float* at(const array_name& array) const;
  // Returns nullptr where the optimizer has no such state.
  float* state(chunk_index chunk, array_kind kind) const;
  std::size_t chunks() const noexcept { return chunks_.size(); }

 private:
  struct table_memory {
    std::vector<device_arena::place> parameters;  // by version buffer; no bytes: not prepared
    device_arena::place rest;                     // states, then sums
    std::uint64_t copy_bytes = 0;
    std::uint32_t states = 0, sums = 0;
  };
  struct chunk_place {
    std::uint32_t table = 0;
    std::uint64_t offset = 0;  // bytes within each copy
    std::uint64_t elements = 0;
  };

  status clear(const device_arena::place& where, stream on);

  device& device_;
  device_arena arena_;
  std::vector<table_memory> tables_;
  std::vector<chunk_place> chunks_;
};

}  // namespace tidegate::runtime::devices
