#include "runtime/ucx/stream_guard.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <dirent.h>
#include <mutex>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string_view>
#include <sys/socket.h>

namespace tidegate::runtime {

namespace {

constexpr auto pause_between_looks = std::chrono::milliseconds(500);
// A number that is nobody's default.
constexpr int probes = 13;

// -1: this is no socket, or none that has such an option.
int option(int fd, int level, int name) {
  int value = -1;
  socklen_t length = sizeof value;
  return ::getsockopt(fd, level, name, &value, &length) == 0 ? value : -1;
}

bool has(int fd, const keepalive& known_by) {
  return option(fd, SOL_SOCKET, SO_KEEPALIVE) > 0 &&
         option(fd, SOL_SOCKET, SO_PROTOCOL) == IPPROTO_TCP &&
         known_by == keepalive{.idle_s = option(fd, IPPROTO_TCP, TCP_KEEPIDLE),
                               .pause_s = option(fd, IPPROTO_TCP, TCP_KEEPINTVL),
                               .probes = option(fd, IPPROTO_TCP, TCP_KEEPCNT)};
}

bool set_option(int fd, int level, int name, int value) {
  return ::setsockopt(fd, level, name, &value, sizeof value) == 0;
}

bool limit(int fd, std::uint32_t silent_ms) {
  return set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(silent_ms));
}

std::vector<int> descriptors() {
  std::vector<int> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc/self/fd"), &::closedir);
  while (const auto* entry = folder ? ::readdir(folder.get()) : nullptr) {
    const std::string_view name(entry->d_name);
    int fd = -1;
    std::from_chars(name.data(), name.data() + name.size(), fd);
    if (fd >= 0) found.push_back(fd);
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

keepalive keepalive_within(std::uint32_t silent_ms) {
  return {.idle_s = static_cast<int>(std::max(silent_ms / 2'000U, 1U)),
          .pause_s = 1,
          .probes = probes};
}

int limit_streams(const keepalive& known_by, std::uint32_t silent_ms) {
  int limited = 0;
  for (const auto fd : descriptors())
    if (has(fd, known_by) && option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT) == 0)
      limited += limit(fd, silent_ms);
  return limited;
}

std::vector<int> listening_sockets() {
  auto found = descriptors();
  std::erase_if(found, [](int fd) {
    return option(fd, SOL_SOCKET, SO_ACCEPTCONN) != 1 ||
           option(fd, SOL_SOCKET, SO_PROTOCOL) != IPPROTO_TCP;
  });
  return found;
}

// Without keep-alive the end that only receives would never learn that the other has closed.
void limit_accepted(std::span<const int> listening, std::uint32_t silent_ms) {
  const auto marks = keepalive_within(silent_ms);
  for (const auto fd : listening) {
    set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, marks.idle_s);
    set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, marks.pause_s);
    set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, marks.probes);
    set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    limit(fd, silent_ms);
  }
}

std::shared_ptr<stream_guard> stream_guard::of_process(std::uint32_t silent_ms) {
  static std::mutex mutex;
  static std::weak_ptr<stream_guard> guard;
  const std::lock_guard lock(mutex);
  auto shared = guard.lock();
  if (!shared) guard = shared = std::make_shared<stream_guard>(silent_ms);
  return shared;
}

stream_guard::stream_guard(std::uint32_t silent_ms)
    : thread_(pause_between_looks, [known_by = keepalive_within(silent_ms), silent_ms] {
        limit_streams(known_by, silent_ms);
      }) {}

}  // namespace tidegate::runtime
