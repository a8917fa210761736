#include "runtime/device/device.hpp"

#include <utility>

namespace tidegate::runtime::devices {

device_memory::device_memory(device_memory&& other) noexcept
    : owner_(other.owner_),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

device_memory& device_memory::operator=(device_memory&& other) noexcept {
  if (this == &other) return *this;
  reset();
  owner_ = other.owner_;
  data_ = std::exchange(other.data_, nullptr);
  size_ = std::exchange(other.size_, 0);
  return *this;
}

void device_memory::reset() noexcept {
  if (data_ != nullptr) owner_->release(std::exchange(data_, nullptr), std::exchange(size_, 0));
}

host_memory::host_memory(host_memory&& other) noexcept
    : owner_(other.owner_), bytes_(std::exchange(other.bytes_, {})), origin_(other.origin_) {}

host_memory& host_memory::operator=(host_memory&& other) noexcept {
  if (this == &other) return *this;
  reset();
  owner_ = other.owner_;
  bytes_ = std::exchange(other.bytes_, {});
  origin_ = other.origin_;
  return *this;
}

void host_memory::reset() noexcept {
  if (!bytes_.empty()) owner_->release(std::exchange(bytes_, {}), origin_);
}

}  // namespace tidegate::runtime::devices
