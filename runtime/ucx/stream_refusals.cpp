#include "runtime/ucx/stream_refusals.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

// A descriptor's number comes back; with the socket's inode it names one stream.
struct stream {
  int fd = -1;
  ino_t inode = 0;

  friend bool operator==(const stream&, const stream&) = default;
};

// The streams of a thread that were answered "try again" last; the oldest gives way.
class postponed_streams {
 public:
  bool add(int fd) {
    const auto refused = name(fd);
    if (std::find(all_.begin(), all_.end(), refused) != all_.end()) return false;
    all_[next_++ % all_.size()] = refused;
    return true;
  }
  void forget(int fd) {
    if (next_ == 0) return;  // as it is in nearly every send
    for (auto& known : all_)
      if (known.fd == fd) known = {};
  }

 private:
  static stream name(int fd) {
    struct stat found {};
    return {.fd = fd, .inode = ::fstat(fd, &found) == 0 ? found.st_ino : 0};
  }

  std::array<stream, 16> all_{};
  std::size_t next_ = 0;
};

thread_local bool postpones = false;
thread_local postponed_streams postponed;

bool is_broken(int error) {
  return error == EPIPE || error == ECONNRESET || error == ENOTCONN || error == ETIMEDOUT;
}

// What the caller of a send hears of its outcome.
ssize_t answered(int fd, ssize_t sent) {
  if (!postpones) return sent;
  const int error = errno;
  if (sent >= 0)
    postponed.forget(fd);
  else if (is_broken(error))
    errno = postponed.add(fd) ? EAGAIN : error;
  return sent;
}

}  // namespace

// The C library's, but for the answer about a broken stream.
extern "C" [[gnu::weak, gnu::visibility("default")]] ssize_t send(int fd, const void* data,
                                                                  size_t bytes, int flags) {
  return answered(fd, ::syscall(SYS_sendto, fd, data, bytes, flags, nullptr, 0));
}

extern "C" [[gnu::weak, gnu::visibility("default")]] ssize_t sendmsg(int fd,
                                                                     const msghdr* message,
                                                                     int flags) {
  return answered(fd, ::syscall(SYS_sendmsg, fd, message, flags));
}

namespace tidegate::runtime {

stream_refusals::stream_refusals() {
  postpones = true;
}

stream_refusals::~stream_refusals() {
  postpones = false;
}

}  // namespace tidegate::runtime
