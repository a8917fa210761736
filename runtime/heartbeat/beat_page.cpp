#include "runtime/heartbeat/beat_page.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <sys/stat.h>
#include <utility>

namespace tidegate::runtime {

namespace {

constexpr std::size_t page_bytes = sizeof(beat_record);

void* map(int fd) {
  return ::mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

// Before anything is mapped, let alone written: the number may be another file's by now.
bool is_page_of(int fd, std::uint64_t token) {
  struct stat info = {};
  std::uint64_t found = 0;
  return ::fstat(fd, &info) == 0 && info.st_size == static_cast<off_t>(page_bytes) &&
         ::pread(fd, &found, sizeof found, offsetof(beat_record, token)) == sizeof found &&
         found == token;
}

}  // namespace

expected<beat_page> beat_page::make(std::uint64_t token) {
  const auto failed = [](const char* doing) {
    return fail(errc::io_error,
                std::string("a page for heartbeats: ") + doing + ": " + std::strerror(errno));
  };
  unique_fd fd(::memfd_create("tidegate-heartbeat", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return failed("memfd_create");
  // A process that cuts it short would have the launcher die of SIGBUS.
  if (::ftruncate(fd.get(), static_cast<off_t>(page_bytes)) != 0 ||
      ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return failed("its size");
  void* at = map(fd.get());
  if (at == MAP_FAILED) return failed("mmap");
  auto* record = new (at) beat_record;
  record->token = token;
  return beat_page(record, std::move(fd));
}

expected<beat_page> beat_page::open(int fd, std::uint64_t token) {
  void* at = is_page_of(fd, token) ? map(fd) : MAP_FAILED;
  if (at == MAP_FAILED)
    return fail(errc::not_found,
                "descriptor " + std::to_string(fd) + " is no page for heartbeats of this run");
  return beat_page(static_cast<beat_record*>(at), unique_fd());
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
