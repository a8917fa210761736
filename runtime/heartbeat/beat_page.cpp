#include "runtime/heartbeat/beat_page.hpp"

#include <new>
#include <sys/mman.h>
#include <utility>

#include "runtime/base/sealed_memory.hpp"

namespace tidegate::runtime {

namespace {

constexpr std::size_t page_bytes = sizeof(beat_record);

}  // namespace

expected<beat_page> beat_page::make(std::uint64_t token) {
  auto memory = make_sealed("tidegate-heartbeat", "a page for heartbeats", page_bytes, token);
  if (!memory) return fail(memory.error());
  auto* record = new (memory->at) beat_record;
  record->token = token;
  return beat_page(record, std::move(memory->fd));
}

expected<beat_page> beat_page::open(int fd, std::uint64_t token) {
  const auto at = map_sealed(fd, "page for heartbeats", page_bytes, token);
  if (!at) return fail(at.error());
  return beat_page(static_cast<beat_record*>(*at), unique_fd());
}

beat_page::beat_page(beat_page&& other) noexcept
    : record_(std::exchange(other.record_, nullptr)), fd_(std::move(other.fd_)) {}

beat_page& beat_page::operator=(beat_page&& other) noexcept {
  std::swap(record_, other.record_);
  std::swap(fd_, other.fd_);
  return *this;
}

beat_page::~beat_page() {
  if (record_ != nullptr) ::munmap(record_, page_bytes);
}

}  // namespace tidegate::runtime
