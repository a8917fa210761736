#include "launch/run/event_log.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/run/result.hpp"

namespace tidegate::launch {

runtime::expected<event_log> event_log::open(const std::string& path, int flags) {
  event_log log;
  log.path_ = path;
  log.fd_ =
      runtime::unique_fd(::open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC | flags, 0666));
  if (!log.fd_) return runtime::fail(log.failure(std::strerror(errno)));
  return log;
}

runtime::status event_log::failure(const char* why) const {
  return {runtime::errc::io_error, path_ + ": " + why};
}

std::int64_t event_log::time_of_last_line(off_t end) const {
  constexpr off_t block = 4096;
  for (off_t size = std::min(block, end); size > 0;) {
    std::string text(static_cast<std::size_t>(size), '\0');
    const auto n = ::pread(fd_.get(), text.data(), text.size(), end - size);
    if (n != size) return 0;
    text.resize(std::min(text.rfind('\n'), text.size()));
    const auto begin = text.rfind('\n');
    if (begin != std::string::npos) return event_time_of(text.substr(begin + 1));
    if (size == end) return event_time_of(text);
    size = std::min(2 * size, end);  // it is a long line
  }
  return 0;
}

runtime::status event_log::append(const policies::cluster_event& event) {
  int locked = -1;
  do {
    locked = ::flock(fd_.get(), LOCK_EX);
  } while (locked != 0 && errno == EINTR);
  if (locked != 0) return failure(std::strerror(errno));
  auto written = append_alone(event);
  ::flock(fd_.get(), LOCK_UN);
  return written;
}

runtime::status event_log::append_alone(const policies::cluster_event& event) {
  struct stat file = {};
  if (::fstat(fd_.get(), &file) != 0) return failure(std::strerror(errno));
  if (file.st_size != end_) last_ns_ = std::max(last_ns_, time_of_last_line(file.st_size));
  end_ = file.st_size;
  const auto line = event_line(event, last_ns_);
  const auto n = ::write(fd_.get(), line.data(), line.size());
  if (n == static_cast<ssize_t>(line.size())) {
    end_ += n;
    last_ns_ = std::max(last_ns_, event.unix_ns);
    return {};
  }
  const auto why = failure(n < 0 ? std::strerror(errno) : "the disk is full");
  // Half a line would spoil the next one, too.
  if (n > 0 && ::ftruncate(fd_.get(), end_) != 0) return failure(std::strerror(errno));
  return why;
}

}  // namespace tidegate::launch
