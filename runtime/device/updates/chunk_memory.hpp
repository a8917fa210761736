// Device memory of chunks: version buffers of parameters, the optimizer's state, sums that are
// kept. The chunks of a table lie side by side in each of them, as in a shard's shared segments
// (actors/store/endpoint_memory.hpp), so that one window shows the parameters of a table.
//
// Where the device's memory is a cache (chunk_pages.hpp) that is so of tables with small chunks
// alone. Each array of another chunk is a page, and lies on the device while work uses it.
//
// Thread rule: that of the device, which outlives it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/device/device.hpp"
#include "runtime/device/updates/chunk_pages.hpp"
#include "runtime/device/updates/device_arena.hpp"
#include "runtime/device/updates/requests.hpp"

namespace tidegate::runtime::devices {

class chunk_memory {
 public:
  explicit chunk_memory(device& owner) : device_(owner), arena_(owner) {}

  // Makes the device's memory a cache from now on. Errors: those of the device.
  status page(const chunk_pages::options& sizes);

  // Takes memory for a table, with version buffer 0 of its parameters, and queues that it be
  // zero; returns its first chunk. Errors: those of device::allocate; then nothing was taken.
  expected<chunk_index> add_table(const table_shape& shape, stream on);
  // Takes memory for another version buffer of the chunk's table, unless there is some already,
  // and queues that it be zero. Errors: those of device::allocate.
  status prepare(chunk_index chunk, std::uint32_t version_buffer, stream on);

  bool is_prepared(chunk_index chunk, std::uint32_t version_buffer) const;

  // How another process finds a version buffer of a table: from `offset` of the window on.
  // Errors: those of device::name_window; unavailable (its chunks are pages).
  struct place {
    window_name name;
    std::uint64_t offset = 0;  // bytes
    std::uint64_t bytes = 0;
  };
  expected<place> place_of(chunk_index first, std::uint32_t version_buffer) const;

  // An array that work uses, and how. What is not paged is always there.
  struct array_use {
    array_name array;
    chunk_pages::access mode = chunk_pages::access::read;
  };
  // Lets these arrays be on the device for work that is queued on this stream afterwards, until
  // the next call; and to be called when all of it has been queued, and ends with this
  // stream's. Errors: those of the device.
  status bring(std::span<const array_use> arrays, stream on);
  status used(stream by);
  std::uint64_t pages_moved() const noexcept { return pages_ ? pages_->moved() : 0; }

  std::uint64_t elements(chunk_index chunk) const { return chunks_[chunk].elements; }
  // Returns true if each array of `next` begins where that of `chunk` ends.
  bool are_side_by_side(chunk_index chunk, chunk_index next) const;
  // Asserts that there is such an array.
  float* at(const array_name& array) const;
  // Arrays of the optimizer's state.
  std::uint32_t states(chunk_index chunk) const { return tables_[chunks_[chunk].table].states; }
  // Returns nullptr where the optimizer has no such state.
  float* state(chunk_index chunk, array_kind kind) const;
  std::size_t chunks() const noexcept { return chunks_.size(); }

 private:
  struct table_memory {
    std::vector<device_arena::place> parameters;  // by version buffer; no bytes: not prepared
    device_arena::place rest;                     // states, then sums
    std::uint64_t copy_bytes = 0;
    std::uint32_t states = 0, sums = 0;
    bool is_paged = false;
    chunk_index first = 0;
    std::uint32_t chunks = 0;
    // By copy, states and sums behind the version buffers: the page of the first chunk, whose
    // pages follow each other. no_page: not prepared.
    std::vector<chunk_pages::page> pages;
  };
  static constexpr auto no_page = ~chunk_pages::page{0};
  struct chunk_place {
    std::uint32_t table = 0;
    std::uint64_t offset = 0;  // bytes within each copy
    std::uint64_t elements = 0;
  };

  bool is_paged(const table_shape& shape) const;
  status take_room(table_memory& table, stream on);
  chunk_pages::page add_pages(const table_memory& table);
  chunk_pages::page page_of(const array_name& array) const;
  status clear(const device_arena::place& where, stream on);

  device& device_;
  device_arena arena_;
  std::optional<chunk_pages> pages_;
  std::uint64_t paged_bytes_min_ = 0;        // of a chunk
  std::vector<chunk_pages::wanted> wanted_;  // of the last bring()
  std::vector<table_memory> tables_;
  std::vector<chunk_place> chunks_;
};

}  // namespace tidegate::runtime::devices
