#include "runtime/memory/memory_source.hpp"

#include <cstdlib>
#include <cstring>
#include <utility>

namespace tidegate::runtime {

region::region(region&& other) noexcept
    : source_(std::exchange(other.source_, nullptr)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      handle_(std::exchange(other.handle_, nullptr)) {}

region& region::operator=(region&& other) noexcept {
  if (this != &other) {
    reset();
    source_ = std::exchange(other.source_, nullptr);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    handle_ = std::exchange(other.handle_, nullptr);
  }
  return *this;
}

region::~region() {
  reset();
}

void region::reset() noexcept {
  if (data_) source_->release(data_, size_, handle_);
  data_ = nullptr;
}

region heap_source::allocate(std::size_t bytes) {
  constexpr std::size_t page = 4096;
  const std::size_t size = (bytes + page - 1) / page * page;
  auto* data = static_cast<std::byte*>(std::aligned_alloc(page, size));
  if (!data) return {};
  std::memset(data, 0, size);
  return {*this, data, size, nullptr};
}

void heap_source::release(std::byte* data, std::size_t, void*) noexcept {
  std::free(data);
}

}  // namespace tidegate::runtime
