#include "runtime/ucx/stream_refusals.hpp"

#include <cerrno>
#include <sys/socket.h>
#include <utility>

namespace {

constexpr int no_stream = -1;
thread_local bool postponed = false;
thread_local int refused = no_stream;  // its last send of this thread was answered "try again"

bool is_broken(int error) {
  return error == EPIPE || error == ECONNRESET || error == ENOTCONN || error == ETIMEDOUT;
}

}  // namespace

// The C library's, but for its answer about a broken stream.
extern "C" [[gnu::visibility("default")]] ssize_t send(int fd, const void* data, size_t bytes,
                                                       int flags) {
  const auto sent = ::sendto(fd, data, bytes, flags, nullptr, 0);
  if (!postponed) return sent;
  const auto last = std::exchange(refused, no_stream);
  if (sent >= 0 || !is_broken(errno) || last == fd) return sent;
  refused = fd;
  errno = EAGAIN;
  return sent;
}

namespace tidegate::runtime {

stream_refusals::stream_refusals() {
  postponed = true;
}

stream_refusals::~stream_refusals() {
  postponed = false;
}

}  // namespace tidegate::runtime
