#include "runtime/memory/segment.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/base/descriptor.hpp"
#include "runtime/base/rng.hpp"

namespace tidegate::runtime {

namespace {

// Of Linux 5.14 and 6.1, newer than Debian 12's C library. An older kernel refuses them, and
// then first touch does their work.
constexpr int advice_populate_read = 22;
constexpr int advice_populate_write = 23;
constexpr int advice_collapse = 25;

constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

std::string because(int error) {
  return std::string(": ") + std::strerror(error);
}

std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

std::uint64_t inode_of(const char* path) {
  struct stat found {};
  return ::stat(path, &found) == 0 ? static_cast<std::uint64_t>(found.st_ino) : 0;
}

}  // namespace

segment::segment(segment&& other) noexcept
    : name_(other.name_),
      data_(std::exchange(other.data_, nullptr)),
      fd_(std::exchange(other.fd_, -1)),
      mine_(other.mine_) {}

segment& segment::operator=(segment&& other) noexcept {
  if (this == &other) return *this;
  reset();
  name_ = other.name_;
  data_ = std::exchange(other.data_, nullptr);
  fd_ = std::exchange(other.fd_, -1);
  mine_ = other.mine_;
  return *this;
}

segment::~segment() {
  reset();
}

void segment::reset() noexcept {
  if (data_) ::munmap(data_, size());
  if (fd_ >= 0) ::close(fd_);
  data_ = nullptr;
  fd_ = -1;
}

expected<segment> segment::create(const std::string& label, std::size_t bytes, pages kind) {
  TIDEGATE_ASSERT(bytes > 0, "a segment has a size");
  segment memory;
  memory.mine_ = true;
  memory.fd_ = ::memfd_create(label.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (memory.fd_ < 0)
    return fail(errc::io_error, "no shared memory (memfd_create)" + because(errno));
  const auto size = round_up(bytes, kind == pages::large ? huge_page_bytes : page_bytes);
  struct stat found {};
  if (::ftruncate(memory.fd_, static_cast<off_t>(size)) != 0 ||
      ::fcntl(memory.fd_, F_ADD_SEALS, seals) != 0 || ::fstat(memory.fd_, &found) != 0)
    return fail(errc::io_error,
                "no shared memory of " + std::to_string(size) + " bytes" + because(errno));
  memory.name_ = {.pid = static_cast<std::uint32_t>(::getpid()),
                  .fd = static_cast<std::uint32_t>(memory.fd_),
                  .inode = static_cast<std::uint64_t>(found.st_ino),
                  .bytes = size};
  if (auto mapped = memory.map(PROT_READ | PROT_WRITE); !mapped.ok()) return fail(mapped);
  if (kind == pages::large) ::madvise(memory.data_, size, MADV_HUGEPAGE);
  return memory;
}

expected<segment> segment::open(const segment_name& name) {
  const std::string path = descriptor_path(name.pid, name.fd).c_str();
  segment memory;
  memory.name_ = name;
  memory.fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // it may be a pipe
  if (memory.fd_ < 0) return fail(errc::unavailable, "cannot open " + path + because(errno));
  struct stat found {};
  const bool same = ::fstat(memory.fd_, &found) == 0 && name.bytes > 0 &&
                    static_cast<std::uint64_t>(found.st_ino) == name.inode &&
                    static_cast<std::uint64_t>(found.st_size) == name.bytes;
  // The seals make sure that it is a memfd which nobody can cut short under us.
  const int sealed = same ? ::fcntl(memory.fd_, F_GET_SEALS) : -1;
  if (sealed < 0 || (sealed & seals) != seals)
    return fail(errc::unavailable, path + " is not the segment that was named");
  if (auto mapped = memory.map(PROT_READ); !mapped.ok()) return fail(mapped);
  return memory;
}

// At a multiple of the huge page, so that huge pages can be mapped whole.
status segment::map(int protection) {
  const auto room = size() + huge_page_bytes;
  void* reserved =
      ::mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED)
    return {errc::io_error,
            "no address space for " + std::to_string(room) + " bytes" + because(errno)};
  auto* begin = static_cast<std::byte*>(reserved);
  const auto skip = round_up(reinterpret_cast<std::uintptr_t>(begin), huge_page_bytes) -
                    reinterpret_cast<std::uintptr_t>(begin);
  void* at =
      ::mmap(begin + skip, size(), protection, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd_, 0);
  const int error = errno;
  if (skip > 0) ::munmap(begin, skip);
  if (skip < huge_page_bytes) ::munmap(begin + skip + size(), huge_page_bytes - skip);
  if (at == MAP_FAILED) {
    ::munmap(begin + skip, size());
    return {errc::io_error, "cannot map shared memory" + because(error)};
  }
  data_ = static_cast<std::byte*>(at);
  return {};
}

void segment::hide() noexcept {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void segment::discard(std::size_t offset, std::size_t bytes) const noexcept {
  const auto first = round_up(offset, page_bytes);
  const auto end = (offset + bytes) / page_bytes * page_bytes;
  if (first < end) ::madvise(data_ + first, end - first, MADV_REMOVE);
}

void segment::prepare(std::size_t offset, std::size_t bytes) const noexcept {
  const auto first = offset / page_bytes * page_bytes;
  const auto end = std::min(round_up(offset + bytes, page_bytes), size());
  if (!mine_) {
    ::madvise(data_ + first, end - first, advice_populate_read);
    return;
  }
  // A huge page that has one small page already is made whole by the kernel whatever the
  // system's setting for shared memory (usually "never"), which gives twice the bandwidth of
  // small pages on arrays larger than the cache.
  for (auto at = first / huge_page_bytes * huge_page_bytes; at < end; at += huge_page_bytes) {
    const bool whole = at >= first && at + huge_page_bytes <= end;
    auto* page = data_ + at;
    if (whole) {
      ::madvise(page, page_bytes, advice_populate_write);
      if (::madvise(page, huge_page_bytes, advice_collapse) == 0) continue;
    }
    const auto from = std::max(at, first);
    ::madvise(data_ + from, std::min(at + huge_page_bytes, end) - from, advice_populate_write);
  }
}

bool segment::map_at(std::byte* where, std::size_t offset, std::size_t bytes) const noexcept {
  const int protection = mine_ ? PROT_READ | PROT_WRITE : PROT_READ;
  return ::mmap(where, bytes, protection, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd_,
                static_cast<off_t>(offset)) != MAP_FAILED;
}

bool is_gone(const segment_name& name) noexcept {
  return is_descriptor_gone(name.pid, name.fd, S_IFREG, name.inode);
}

std::uint64_t host_identity(std::string_view name) {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  auto key = stream_key(inode_of("/proc/self/ns/net"), boot);
  key = stream_key(mix64(key ^ inode_of("/proc/self/ns/pid")), name);
  return key == 0 ? 1 : key;
}

}  // namespace tidegate::runtime
