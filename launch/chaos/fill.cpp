#include "launch/chaos/fill.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace tidegate::chaos {

using runtime::errc;
using runtime::fail;

runtime::expected<runtime::unique_fd> fill_disk(const std::string& run_dir) {
  struct statvfs disk {};
  if (::statvfs(run_dir.c_str(), &disk) != 0)
    return fail(errc::io_error, run_dir + ": " + std::strerror(errno));
  const auto free = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  if (free > fill_bytes_max)
    return fail(errc::refused, run_dir + " is on a disk with " + std::to_string(free >> 20U) +
                                   " MiB free; allowed: up to " +
                                   std::to_string(fill_bytes_max >> 20U) +
                                   ", as of a run folder on a small tmpfs");
  const auto path = run_dir + "/chaos.fill";
  runtime::unique_fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return fail(errc::io_error, path + ": " + std::strerror(errno));
  ::unlink(path.c_str());
  off_t end = 0;
  // What others write meanwhile is missing at the end.
  for (off_t step = 64 << 20U; step >= 4096;) {
    const int result = ::posix_fallocate(file.get(), end, step);
    if (result == 0)
      end += step;
    else if (result == ENOSPC)
      step /= 4;
    else if (result != EINTR)
      return fail(errc::io_error, path + ": " + std::strerror(result));
  }
  return file;
}

}  // namespace tidegate::chaos
