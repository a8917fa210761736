#include "runtime/memory/backing_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/base/descriptor.hpp"

namespace tidegate::runtime {

namespace {

constexpr mode_t owner_alone = 0600;

std::string reason_of(int error) {
  return std::string(": ") + std::strerror(error);
}

bool is_in_memory(const struct statfs& found) noexcept {
  const auto type = static_cast<std::uint64_t>(found.f_type);
  return type == TMPFS_MAGIC || type == RAMFS_MAGIC || type == HUGETLBFS_MAGIC;
}

// Some file systems have no files without names: there it loses its name at once.
unique_fd nameless_file(const std::string& folder) {
  unique_fd fd(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, owner_alone));
  if (fd || (errno != EOPNOTSUPP && errno != EISDIR)) return fd;
  std::string path = folder + "/.tidegate-rows-XXXXXX";
  unique_fd named(::mkostemp(path.data(), O_CLOEXEC));
  const int error = errno;
  if (named) ::unlink(path.c_str());
  errno = error;
  return named;
}

}  // namespace

status backing_file::check_folder(const std::string& folder) {
  struct statfs found {};
  if (::statfs(folder.c_str(), &found) != 0)
    return {errc::io_error, "the folder " + folder + " cannot be used" + reason_of(errno)};
  if (!is_in_memory(found)) return {};
  return {
      errc::invalid_argument,
      "the folder " + folder +
          " lies in memory (tmpfs), where nothing would be won; allowed: a folder on a disk"};
}

expected<backing_file> backing_file::create(const std::string& folder, std::uint64_t bytes,
                                            order read) {
  TIDEGATE_ASSERT(bytes > 0, "a file has a size");
  if (auto good = check_folder(folder); !good.ok()) return fail(good);
  auto fd = nameless_file(folder);
  if (!fd) return fail(errc::io_error, "no file can be made in " + folder + reason_of(errno));
  struct stat found {};
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0 || ::fstat(fd.get(), &found) != 0)
    return fail(errc::io_error, "no file of " + std::to_string(bytes) +
                                    " bytes can be made in " + folder + reason_of(errno));
  if (read == order::random) ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_RANDOM);
  const segment_name name{.pid = static_cast<std::uint32_t>(::getpid()),
                          .fd = static_cast<std::uint32_t>(fd.get()),
                          .inode = static_cast<std::uint64_t>(found.st_ino),
                          .bytes = bytes};
  return backing_file(std::move(fd), name, true, read);
}

expected<backing_file> backing_file::open(const segment_name& name) {
  const std::string path = descriptor_path(name.pid, name.fd).c_str();
  unique_fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // it may be a pipe
  if (!fd) return fail(errc::unavailable, "cannot open " + path + reason_of(errno));
  struct stat found {};
  const bool same = ::fstat(fd.get(), &found) == 0 && is_file(found, S_IFREG, name.inode) &&
                    static_cast<std::uint64_t>(found.st_size) == name.bytes;
  if (!same || name.bytes == 0)
    return fail(errc::unavailable, path + " is not the file that was named");
  return backing_file(std::move(fd), name, false, order::random);
}

bool backing_file::map_at(std::byte* where) const noexcept {
  const int protection = is_mine_ ? PROT_READ | PROT_WRITE : PROT_READ;
  if (::mmap(where, size(), protection, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd_.get(), 0) ==
      MAP_FAILED)
    return false;
  ::madvise(where, size(), read_ == order::random ? MADV_RANDOM : MADV_SEQUENTIAL);
  return true;
}

status backing_file::reserve(std::uint64_t offset, std::uint64_t bytes) const {
  int result = 0;
  do result = ::fallocate(fd_.get(), 0, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  while (result != 0 && errno == EINTR);
  if (result == 0) return {};
  const int error = errno;
  // A part of it may have been taken.
  ::fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
              static_cast<off_t>(bytes));
  if (error == ENOSPC || error == EDQUOT) return {errc::no_space, std::strerror(error)};
  const bool can_never = error == EOPNOTSUPP || error == ENOSYS;
  return {can_never ? errc::invalid_argument : errc::io_error,
          "its file system reserves no space" + reason_of(error)};
}

void backing_file::start_reading(std::uint64_t offset, std::uint64_t bytes) const noexcept {
  ::posix_fadvise(fd_.get(), static_cast<off_t>(offset), static_cast<off_t>(bytes),
                  POSIX_FADV_WILLNEED);
}

void backing_file::start_writing(std::uint64_t offset, std::uint64_t bytes) const noexcept {
  ::sync_file_range(fd_.get(), static_cast<off64_t>(offset), static_cast<off64_t>(bytes),
                    SYNC_FILE_RANGE_WRITE);
}

// Pages that are mapped here, or not written, would stay.
status backing_file::drop(std::byte* mapped, std::uint64_t offset, std::uint64_t bytes) const {
  ::madvise(mapped, bytes, MADV_DONTNEED);
  // The kernel takes a page for written whose write has failed: it tells so here, and once.
  if (::sync_file_range(fd_.get(), static_cast<off64_t>(offset), static_cast<off64_t>(bytes),
                        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                            SYNC_FILE_RANGE_WAIT_AFTER) != 0)
    return {errc::io_error, std::strerror(errno)};
  ::posix_fadvise(fd_.get(), static_cast<off_t>(offset), static_cast<off_t>(bytes),
                  POSIX_FADV_DONTNEED);
  return {};
}

void backing_file::look(const std::byte* mapped, std::span<unsigned char> in_memory) noexcept {
  if (::mincore(const_cast<std::byte*>(mapped), in_memory.size() * segment::page_bytes,
                in_memory.data()) != 0)
    std::fill(in_memory.begin(), in_memory.end(), 1);
  for (auto& page : in_memory) page &= 1U;
}

}  // namespace tidegate::runtime
