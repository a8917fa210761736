#include "runtime/process/process_mark.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
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

std::vector<process_mark> descendants_of(std::int32_t pid) {
  std::multimap<std::int32_t, process_mark> by_parent;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const auto name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto child = static_cast<std::int32_t>(std::strtol(name.c_str(), nullptr, 10));
    const auto stat = stat_of(child);
    if (stat) by_parent.emplace(stat->parent, process_mark{child, stat->started});
  }
  std::vector<process_mark> found;
  const auto add = [&](std::int32_t parent) {
    const auto [begin, end] = by_parent.equal_range(parent);
    for (auto at = begin; at != end; ++at) found.push_back(at->second);
  };
  add(pid);
  for (std::size_t i = 0; i < found.size(); ++i) add(found[i].pid);
  return found;
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
