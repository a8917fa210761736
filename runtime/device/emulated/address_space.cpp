#include "runtime/device/emulated/address_space.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <utility>

#include "runtime/base/assert.hpp"

namespace tidegate::runtime::devices {

namespace {

constexpr int no_number = 0xff;  // floats of these bytes are NaN

std::uintptr_t address_of(const void* data) {
  return reinterpret_cast<std::uintptr_t>(data);
}

}  // namespace

address_space::~address_space() {
  for (const auto& item : pieces_) forget(item);
}

void address_space::forget(const piece& item) noexcept {
  ::munmap(item.data, item.pages.size());
  if (!item.is_window) bytes_out_ -= item.bytes;
}

expected<std::byte*> address_space::allocate(std::size_t bytes) {
  TIDEGATE_ASSERT(bytes > 0, "memory has a size");
  if (bytes > bytes_max_ - bytes_out_)
    return fail(errc::io_error, "no device memory for " + std::to_string(bytes) +
                                    " bytes: " + std::to_string(bytes_out_) + " of " +
                                    std::to_string(bytes_max_) + " are in use");
  const auto kind =
      bytes < segment::huge_page_bytes ? segment::pages::small : segment::pages::large;
  auto pages = segment::create("tidegate-device", bytes, kind);
  if (!pages) return fail(pages.error());
  std::memset(pages->data(), no_number, bytes);
  auto data = add(std::move(*pages), bytes, false);
  if (data) bytes_out_ += bytes;
  return data;
}

expected<std::byte*> address_space::open(const segment_name& name, std::size_t bytes) {
  auto pages = segment::open(name);
  if (!pages) return fail(pages.error());
  if (bytes == 0 || bytes > pages->size())
    return fail(errc::corrupt, "a window is larger than its memory");
  return add(std::move(*pages), bytes, true);
}

expected<std::byte*> address_space::add(segment pages, std::size_t bytes, bool is_window) {
  void* data = ::mmap(nullptr, pages.size(), PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED)
    return fail(errc::io_error, std::string("no address space: ") + std::strerror(errno));
  auto* at = static_cast<std::byte*>(data);
  pieces_.push_back(
      {.data = at, .bytes = bytes, .pages = std::move(pages), .is_window = is_window});
  return at;
}

void address_space::release(std::byte* data) noexcept {
  const auto item = std::find_if(pieces_.begin(), pieces_.end(),
                                 [&](const piece& known) { return known.data == data; });
  TIDEGATE_ASSERT(item != pieces_.end(), "memory of this device");
  forget(*item);
  pieces_.erase(item);
}

const address_space::piece* address_space::find(const void* data) const noexcept {
  const auto item = std::find_if(pieces_.begin(), pieces_.end(), [&](const piece& known) {
    return address_of(data) - address_of(known.data) < known.bytes;
  });
  return item == pieces_.end() ? nullptr : &*item;
}

const segment_name* address_space::name_of(const std::byte* data) const noexcept {
  const auto* item = find(data);
  return item == nullptr || item->is_window ? nullptr : &item->pages.name();
}

std::byte* address_space::translate(const void* data, std::size_t bytes,
                                    access use) const noexcept {
  const auto* item = find(data);
  if (item == nullptr || (item->is_window && use == access::write)) return nullptr;
  const auto offset = address_of(data) - address_of(item->data);
  return bytes > item->bytes - offset ? nullptr : item->pages.data() + offset;
}

bool address_space::overlaps(const void* data, std::size_t bytes) const noexcept {
  return std::any_of(pieces_.begin(), pieces_.end(), [&](const piece& known) {
    return address_of(data) < address_of(known.data) + known.pages.size() &&
           address_of(known.data) < address_of(data) + bytes;
  });
}

void address_space::wipe() noexcept {
  for (const auto& item : pieces_)
    if (!item.is_window) std::memset(item.pages.data(), no_number, item.bytes);
}

}  // namespace tidegate::runtime::devices
