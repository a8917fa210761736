#include "launch/leftovers.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

#include "launch/files.hpp"
#include "launch/scalars.hpp"
#include "runtime/base/unique_fd.hpp"

namespace tidegate::launch {

namespace {

namespace fs = std::filesystem;
using runtime::errc;

constexpr int gone_within_ms = 5000;

struct leftover {
  pid_t pid = -1;
  runtime::unique_fd pid_fd;  // readable once it has ended
};

bool has_environment_of(pid_t pid, const std::string& run_dir) {
  const auto environment = read_file("/proc/" + std::to_string(pid) + "/environ");
  return environment && is_of_run(*environment, run_dir);
}

std::vector<leftover> find_leftovers(const std::string& run_dir) {
  std::vector<leftover> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const auto number = parse_unsigned(entry.path().filename().string());
    if (!number) continue;
    const auto pid = static_cast<pid_t>(*number);
    if (!has_environment_of(pid, run_dir) || ::getpgid(pid) == ::getpgrp()) continue;
    runtime::unique_fd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    // Asked again: the descriptor is of whoever has the pid now.
    if (fd && has_environment_of(pid, run_dir)) found.push_back({pid, std::move(fd)});
  }
  return found;
}

runtime::status end_one(const leftover& one) {
  const auto who = "process " + std::to_string(one.pid) + " of an earlier life of this run";
  if (::syscall(SYS_pidfd_send_signal, one.pid_fd.get(), SIGKILL, nullptr, 0) != 0 &&
      errno != ESRCH)
    return {errc::refused, who + " cannot be ended: " + std::strerror(errno)};
  pollfd fd{one.pid_fd.get(), POLLIN, 0};
  if (::poll(&fd, 1, gone_within_ms) == 1) return {};
  return {errc::timed_out, who + " has been killed and does not end"};
}

}  // namespace

bool is_of_run(std::string_view environment, std::string_view run_dir) {
  const auto entry = "TIDEGATE_RUN_DIR=" + std::string(run_dir);
  while (!environment.empty()) {
    const auto end = std::min(environment.find('\0'), environment.size());
    if (environment.substr(0, end) == entry) return true;
    environment.remove_prefix(std::min(end + 1, environment.size()));
  }
  return false;
}

runtime::expected<int> end_leftovers(const std::string& run_dir) {
  int ended = 0;
  // Until nobody is found: one may have started another meanwhile.
  for (auto found = find_leftovers(run_dir); !found.empty(); found = find_leftovers(run_dir)) {
    for (const auto& one : found)
      if (auto result = end_one(one); !result.ok()) return runtime::fail(result);
    ended += static_cast<int>(found.size());
  }
  return ended;
}

}  // namespace tidegate::launch
