#include "runtime/process/copy_safety.hpp"

#include <cerrno>
#include <charconv>
#include <dirent.h>
#include <memory>
#include <poll.h>
#include <signal.h>
#include <string>
#include <string_view>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/unique_fd.hpp"

namespace tidegate::runtime {

namespace {

// Calls `use` with each name in the folder; returns false where it cannot be read, or where
// `use` does.
bool for_each_entry(const char* folder, const std::function<bool(std::string_view, int)>& use) {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder), ::closedir);
  if (!entries) return false;
  while (const auto* entry = ::readdir(entries.get())) {
    const std::string_view name(entry->d_name);
    if (name != "." && name != ".." && !use(name, ::dirfd(entries.get()))) return false;
  }
  return true;
}

bool has_one_thread() {
  int threads = 0;
  const auto count = [&](std::string_view, int) { return ++threads == 1; };
  return for_each_entry("/proc/self/task", count);
}

bool is_null_device(int fd) {
  char path[32];
  const auto n = ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), path, sizeof path);
  return n > 0 && std::string_view(path, static_cast<std::size_t>(n)) == "/dev/null";
}

bool has_no_files_but(int own) {
  return for_each_entry("/proc/self/fd", [&](std::string_view name, int folder) {
    int fd = -1;
    std::from_chars(name.data(), name.data() + name.size(), fd);
    return (fd >= 0 && fd <= 2) || fd == own || fd == folder || is_null_device(fd);
  });
}

// A child of a process with threads may wait for a lock that nobody will let go.
constexpr int trial_ms_max = 5000;

bool has_ended(pid_t child) {
  const unique_fd life(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  pollfd end{.fd = life.get(), .events = POLLIN, .revents = 0};
  const bool is_over = life && ::poll(&end, 1, trial_ms_max) == 1;
  if (!is_over) ::kill(child, SIGKILL);
  int result = 0;
  while (::waitpid(child, &result, 0) < 0 && errno == EINTR) continue;
  return is_over;
}

}  // namespace

bool is_safe_to_copy(const std::function<pid_t()>& fork, int own) {
  if (!has_no_files_but(own)) return false;
  const auto child = fork();
  if (child == 0) ::_exit(0);
  return child > 0 && has_ended(child) && has_one_thread();
}

}  // namespace tidegate::runtime
