#include "launch/text/files.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace tidegate::launch {

namespace {

constexpr std::size_t file_bytes_max = 16U << 20U;

runtime::status io_failure(const std::string& path, const char* doing) {
  const int why = errno;
  return {why == ENOENT ? runtime::errc::not_found : runtime::errc::io_error,
          path + ": " + doing + ": " + std::strerror(why)};
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const auto n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace

runtime::expected<std::string> read_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return runtime::fail(io_failure(path, "cannot be opened"));
  std::string text;
  char block[16 * 1024];
  ssize_t n = 0;
  while (text.size() <= file_bytes_max && (n = ::read(fd, block, sizeof block)) != 0) {
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;
    text.append(block, static_cast<std::size_t>(n));
  }
  if (n < 0) {
    auto why = io_failure(path, "cannot be read");
    ::close(fd);
    return runtime::fail(std::move(why));
  }
  ::close(fd);
  if (text.size() > file_bytes_max) {
    return runtime::fail(runtime::errc::io_error, path + ": larger than 16 MiB");
  }
  return text;
}

runtime::status write_file_atomically(const std::string& path, std::string_view text,
                                      mode_t mode) {
  const auto tmp = path + ".tmp";
  const int fd = ::open(tmp.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
  if (fd < 0) return {runtime::errc::io_error, io_failure(tmp, "cannot be created").message()};
  runtime::status result;
  if (!write_all(fd, text)) result = io_failure(tmp, "cannot be written");
  // Some file systems report a full disk only here.
  if (::close(fd) != 0 && result.ok()) result = io_failure(tmp, "cannot be written");
  if (result.ok() && std::rename(tmp.c_str(), path.c_str()) != 0) {
    result = io_failure(path, "cannot be replaced");
  }
  if (!result.ok()) {
    ::unlink(tmp.c_str());
    return {runtime::errc::io_error, result.message()};
  }
  return result;
}

bool may_write_beside(const std::string& path) {
  const auto slash = path.rfind('/');
  const auto folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  return ::access(folder.c_str(), W_OK | X_OK) == 0;
}

}  // namespace tidegate::launch
