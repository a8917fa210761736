#include "runtime/base/sealed_memory.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace tidegate::runtime {

namespace {

void* map_shared(int fd, std::size_t bytes) {
  return ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

// Before anything is mapped, let alone written: the number may be another file's by now.
bool is_memory_of(int fd, std::size_t bytes, std::uint64_t token) {
  struct stat info = {};
  std::uint64_t found = 0;
  return ::fstat(fd, &info) == 0 && info.st_size == static_cast<off_t>(bytes) &&
         ::pread(fd, &found, sizeof found, 0) == static_cast<ssize_t>(sizeof found) &&
         found == token;
}

}  // namespace

expected<sealed_memory> make_sealed(const char* name, const std::string& subject,
                                    std::size_t bytes, std::uint64_t token) {
  const auto failed = [&subject](const char* doing) {
    return fail(errc::io_error, subject + ": " + doing + ": " + std::strerror(errno));
  };
  unique_fd fd(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return failed("memfd_create");
  // A process that cuts it short would have the launcher die of SIGBUS.
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0 ||
      ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return failed("its size");
  void* at = map_shared(fd.get(), bytes);
  if (at == MAP_FAILED) return failed("mmap");
  std::memcpy(at, &token, sizeof token);
  return sealed_memory{.fd = std::move(fd), .at = at};
}

expected<void*> map_sealed(int fd, const std::string& subject, std::size_t bytes,
                           std::uint64_t token) {
  void* at = is_memory_of(fd, bytes, token) ? map_shared(fd, bytes) : MAP_FAILED;
  if (at == MAP_FAILED)
    return fail(errc::not_found,
                "descriptor " + std::to_string(fd) + " is no " + subject + " of this run");
  return at;
}

}  // namespace tidegate::runtime
