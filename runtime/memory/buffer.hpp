// Payload memory and the handle to it that travels in mailboxes.
//
// A `buffer` is a slice of a block that a `pool` leases, or a view of memory that somebody else
// keeps alive. Copying one shares the block (CAF copies what is in its messages), never the
// bytes; the block goes back to its pool with the last handle. The pool must outlive its
// buffers. Thread rule: a pool and all handles to its blocks belong to one reactor thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "runtime/memory/memory_source.hpp"

namespace tidegate::runtime {

class pool;

namespace detail {
struct block {
  pool* owner = nullptr;
  std::byte* data = nullptr;
  std::uint32_t references = 0;
};
}  // namespace detail

class buffer {
 public:
  buffer() = default;  // empty: no memory
  buffer(const buffer& other) noexcept;
  buffer(buffer&& other) noexcept;
  buffer& operator=(buffer other) noexcept;
  ~buffer();

  // A view of memory that the caller keeps alive longer than every copy of the view.
  static buffer view(std::span<std::byte> memory) noexcept;

  // Returns a handle to the same block that ends where this one ends, and begins so many bytes
  // later, or before it: within the block (asserted). Not of a view.
  buffer with_begin_at(std::ptrdiff_t bytes) const;

  explicit operator bool() const noexcept { return data_ != nullptr; }
  std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  std::span<std::byte> bytes() const noexcept { return {data_, size_}; }
  float* floats() const noexcept { return reinterpret_cast<float*>(data_); }

 private:
  friend class pool;
  buffer(detail::block* block, std::byte* data, std::size_t size) noexcept;

  detail::block* block_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// Blocks of one size, at most `blocks_max` of them, allocated in slabs on demand and kept.
class pool {
 public:
  pool(memory_source& source, std::size_t block_bytes, std::size_t blocks_max);
  ~pool();  // all buffers must be back (asserted)
  pool(const pool&) = delete;
  pool& operator=(const pool&) = delete;

  // A block, `bytes` of it visible (1 .. block_bytes). Empty when blocks_max are out or memory
  // is short.
  buffer lease(std::size_t bytes);

  std::size_t block_bytes() const noexcept { return block_bytes_; }
  std::size_t leased() const noexcept { return leased_; }
  std::size_t blocks_max() const noexcept { return blocks_max_; }
  // Raises the bound; never lowers it.
  void grow_to(std::size_t blocks_max) noexcept;

 private:
  friend class buffer;
  bool add_slab();
  void give_back(detail::block& block) noexcept;

  memory_source& source_;
  std::size_t block_bytes_;
  std::size_t blocks_max_;
  std::size_t blocks_ = 0;
  std::size_t leased_ = 0;
  std::vector<region> slabs_;
  std::vector<std::vector<detail::block>> headers_;  // one vector per slab: addresses stay
  std::vector<detail::block*> free_;
};

// Pools by size: a lease comes from the pool of the next power of two, so that small tables
// take small blocks. Nothing can be leased before allow() raised the bound for its size.
class size_pools {
 public:
  // Shares the source: blocks may come back after the link that made it is gone.
  explicit size_pools(std::shared_ptr<memory_source> source) : source_(std::move(source)) {}

  // Permits `count` more leases of up to `bytes` at a time.
  void allow(std::size_t bytes, std::size_t count);
  // Empty when more are out than allowed, or memory is short.
  buffer lease(std::size_t bytes);
  std::size_t leased() const noexcept;

 private:
  static unsigned class_of(std::size_t bytes) noexcept;

  std::shared_ptr<memory_source> source_;  // before the pools
  std::array<std::unique_ptr<pool>, 64> pools_;
};

}  // namespace tidegate::runtime
