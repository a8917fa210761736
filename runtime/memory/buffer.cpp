#include "runtime/memory/buffer.hpp"

#include <algorithm>
#include <bit>

#include "runtime/base/assert.hpp"

namespace tidegate::runtime {

namespace {
constexpr std::size_t slab_bytes_target = 4u << 20;
}

buffer::buffer(detail::block* block, std::byte* data, std::size_t size) noexcept
    : block_(block), data_(data), size_(size) {
  ++block_->references;
}

buffer::buffer(const buffer& other) noexcept
    : block_(other.block_), data_(other.data_), size_(other.size_) {
  if (block_) ++block_->references;
}

buffer::buffer(buffer&& other) noexcept
    : block_(std::exchange(other.block_, nullptr)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

buffer& buffer::operator=(buffer other) noexcept {
  std::swap(block_, other.block_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

buffer::~buffer() {
  if (block_ && --block_->references == 0) block_->owner->give_back(*block_);
}

buffer buffer::view(std::span<std::byte> memory) noexcept {
  buffer result;
  result.data_ = memory.data();
  result.size_ = memory.size();
  return result;
}

buffer buffer::with_begin_at(std::ptrdiff_t bytes) const {
  TIDEGATE_ASSERT(block_ && data_ + bytes >= block_->data && data_ + bytes <= data_ + size_,
                  "a slice of the block");
  return buffer(block_, data_ + bytes,
                static_cast<std::size_t>(static_cast<std::ptrdiff_t>(size_) - bytes));
}

pool::pool(memory_source& source, std::size_t block_bytes, std::size_t blocks_max)
    : source_(source), block_bytes_((block_bytes + 63) / 64 * 64), blocks_max_(blocks_max) {
  TIDEGATE_ASSERT(block_bytes > 0, "a block holds something");
}

pool::~pool() {
  TIDEGATE_ASSERT(leased_ == 0, "a buffer outlives its pool");
}

void pool::grow_to(std::size_t blocks_max) noexcept {
  blocks_max_ = std::max(blocks_max_, blocks_max);
}

buffer pool::lease(std::size_t bytes) {
  TIDEGATE_ASSERT(bytes > 0 && bytes <= block_bytes_, "a lease fits its block");
  if (free_.empty() && !add_slab()) return {};
  detail::block* block = free_.back();
  free_.pop_back();
  ++leased_;
  return {block, block->data, bytes};
}

bool pool::add_slab() {
  const std::size_t room = blocks_max_ - blocks_;
  const std::size_t count =
      std::min(room, std::max<std::size_t>(1, slab_bytes_target / block_bytes_));
  if (count == 0) return false;
  region slab = source_.allocate(count * block_bytes_);
  if (!slab) return false;
  auto& headers = headers_.emplace_back(count);
  free_.reserve(blocks_ + count);  // give_back never allocates
  for (std::size_t i = 0; i < count; ++i) {
    headers[i] = {.owner = this, .data = slab.data() + i * block_bytes_, .references = 0};
    free_.push_back(&headers[i]);
  }
  blocks_ += count;
  slabs_.push_back(std::move(slab));
  return true;
}

void pool::give_back(detail::block& block) noexcept {
  --leased_;
  free_.push_back(&block);
}

unsigned size_pools::class_of(std::size_t bytes) noexcept {
  constexpr std::size_t smallest = 256;
  return static_cast<unsigned>(std::bit_width(std::max(bytes, smallest) - 1));
}

void size_pools::allow(std::size_t bytes, std::size_t count) {
  const auto index = class_of(bytes);
  auto& pool = pools_[index];
  if (!pool) pool = std::make_unique<runtime::pool>(*source_, std::size_t{1} << index, 0);
  pool->grow_to(pool->blocks_max() + count);
}

buffer size_pools::lease(std::size_t bytes) {
  auto& pool = pools_[class_of(bytes)];
  return pool ? pool->lease(bytes) : buffer();
}

std::size_t size_pools::leased() const noexcept {
  std::size_t sum = 0;
  for (const auto& pool : pools_)
    if (pool) sum += pool->leased();
  return sum;
}

}  // namespace tidegate::runtime
