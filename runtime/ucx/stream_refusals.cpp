#include "runtime/ucx/stream_refusals.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <sys/stat.h>

#include <ucs/type/status.h>

#include "runtime/process/import_slots.hpp"

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

namespace tidegate::runtime {

ssize_t send_for_ucx(int fd, const void* data, std::size_t bytes, int flags) {
  return answered(fd, ::send(fd, data, bytes, flags));
}

ssize_t sendmsg_for_ucx(int fd, const msghdr* message, int flags) {
  return answered(fd, ::sendmsg(fd, message, flags));
}

bool stream_refusals::take_over_sends() {
  static const bool taken = [] {
    // A function of the library whose calls are meant, libucs.
    const auto* const inside = reinterpret_cast<const void*>(&ucs_status_string);
    const auto send = reinterpret_cast<void*>(&send_for_ucx);
    const auto sendmsg = reinterpret_cast<void*>(&sendmsg_for_ucx);
    return redirect_import(inside, "send", send) > 0 &&
           redirect_import(inside, "sendmsg", sendmsg) > 0;
  }();
  return taken;
}

stream_refusals::stream_refusals() {
  postpones = true;
}

stream_refusals::~stream_refusals() {
  postpones = false;
}

}  // namespace tidegate::runtime
