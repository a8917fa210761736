#include "launch/bench/cpus.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sched.h>

namespace tidegate::bench {

namespace {

runtime::status pin(pid_t thread, int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
  if (::sched_setaffinity(thread, sizeof set, &set) == 0) return {};
  return {errno == ESRCH ? runtime::errc::not_found : runtime::errc::invalid_argument,
          "cannot pin thread " + std::to_string(thread) + " to core " + std::to_string(cpu) +
              ": " + std::strerror(errno)};
}

}  // namespace

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> all;
  if (::sched_getaffinity(0, sizeof set, &set) == 0)
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &set)) all.push_back(cpu);
  if (all.empty()) all.push_back(0);
  return all;
}

runtime::status pin_this_thread(int cpu) {
  return pin(0, cpu);
}

runtime::status pin_process(pid_t pid, int cpu) {
  const auto tasks = "/proc/" + std::to_string(pid) + "/task";
  std::error_code error;
  std::filesystem::directory_iterator list(tasks, error);
  if (error) return {runtime::errc::not_found, tasks + ": " + error.message()};
  for (const auto& entry : list) {
    const auto pinned = pin(std::atoi(entry.path().filename().c_str()), cpu);
    // A thread may end between the listing and here.
    if (!pinned.ok() && pinned.code() != runtime::errc::not_found) return pinned;
  }
  return {};
}

}  // namespace tidegate::bench
