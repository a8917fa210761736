#include "runtime/process/process_mark.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <poll.h>
#include <string>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/unique_fd.hpp"
#include "runtime/process/process_stat.hpp"

namespace tidegate::runtime {

process_mark own_mark() {
  const auto pid = ::getpid();
  const auto stat = stat_of(pid);
  return {pid, stat ? stat->started : 0};
}

std::string machine_of_pids() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  struct stat pids {};
  if (::stat("/proc/self/ns/pid", &pids) != 0) return boot;
  return boot + "/" + std::to_string(pids.st_ino);
}

bool is_running(const process_mark& process) {
  if (process.pid <= 0) return false;
  const auto stat = stat_of(process.pid);
  return stat && stat->started == process.started && !is_over(*stat) && !stat->exits;
}

status end_process(const process_mark& mark, int within_ms) {
  if (mark.pid <= 1 || mark.pid == ::getpid()) return {};
  // From here on the descriptor is of one process, whoever gets its pid later.
  const unique_fd fd(static_cast<int>(::syscall(SYS_pidfd_open, mark.pid, 0)));
  const auto stat = stat_of(mark.pid);
  if (!fd || !stat || is_over(*stat) || stat->started != mark.started) return {};
  const auto name = "process " + std::to_string(mark.pid);
  if (::syscall(SYS_pidfd_send_signal, fd.get(), SIGKILL, nullptr, 0) != 0)
    return errno == ESRCH
               ? status()
               : status(errc::refused, name + " cannot be ended: " + std::strerror(errno));
  pollfd ended{.fd = fd.get(), .events = POLLIN, .revents = 0};
  int found = 0;
  do {
    found = ::poll(&ended, 1, within_ms);
  } while (found < 0 && errno == EINTR);
  if (found == 1) return {};
  return {errc::timed_out, name + " has been killed and does not end"};
}

}  // namespace tidegate::runtime
