#include "runtime/base/machine_memory.hpp"

#include <algorithm>
#include <fstream>
#include <unistd.h>

namespace tidegate::runtime {

namespace {

// A file of a control group: a number of bytes, or "max".
std::uint64_t limit_in(const std::string& file, std::uint64_t otherwise) {
  std::ifstream in(file);
  std::uint64_t bytes = 0;
  return in >> bytes ? bytes : otherwise;
}

// Of a group and those it lies in.
std::uint64_t least_above(const std::string& mount, std::string group, const char* file,
                          std::uint64_t otherwise) {
  auto least = limit_in(mount + "/" + file, otherwise);
  for (; group.size() > 1; group.resize(group.find_last_of('/')))
    least = std::min(least, limit_in(mount + group + "/" + file, otherwise));
  return least;
}

}  // namespace

std::uint64_t memory_under(const std::string& root, std::uint64_t of_machine) {
  auto least = of_machine;
  std::ifstream groups(root + "/proc/self/cgroup");
  const auto mount = root + "/sys/fs/cgroup";
  // Lines are ID:CONTROLLERS:/GROUP; the second version has no controllers.
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const auto controllers = line.substr(first + 1, second - first - 1);
    const auto group = line.substr(second + 1);
    if (group.empty() || group.front() != '/') continue;
    if (controllers.empty())
      least = std::min(least, least_above(mount, group, "memory.max", of_machine));
    else if (controllers == "memory")
      least = std::min(
          least, least_above(mount + "/memory", group, "memory.limit_in_bytes", of_machine));
  }
  return least;
}

std::uint64_t machine_memory() {
  const auto pages = ::sysconf(_SC_PHYS_PAGES);
  const auto page = ::sysconf(_SC_PAGESIZE);
  return memory_under("", static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page));
}

}  // namespace tidegate::runtime
