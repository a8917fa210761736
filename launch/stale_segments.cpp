#include "launch/stale_segments.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace tidegate::launch {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = "ucx_shm_posix_";

using file_id = std::pair<dev_t, ino_t>;

std::map<file_id, fs::path> segments_in(const std::string& folder) {
  std::map<file_id, fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    struct stat info = {};
    if (!entry.path().filename().string().starts_with(prefix) ||
        ::lstat(entry.path().c_str(), &info) != 0 || !S_ISREG(info.st_mode) ||
        info.st_uid != ::geteuid())
      continue;
    found[{info.st_dev, info.st_ino}] = entry.path();
  }
  return found;
}

// Of another user's processes only root's may have such a file.
bool may_have_it(const fs::path& path) {
  struct stat info = {};
  return path.filename().string().find_first_not_of("0123456789") == std::string::npos &&
         ::stat(path.c_str(), &info) == 0 && (info.st_uid == ::geteuid() || ::geteuid() == 0);
}

// Both return false when the process is there and cannot be looked at.
bool forget_open(const fs::path& process, std::map<file_id, fs::path>& stale) {
  std::error_code error;
  fs::directory_iterator at(process / "fd", error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    struct stat info = {};
    if (::stat(at->path().c_str(), &info) == 0) stale.erase({info.st_dev, info.st_ino});
  }
  return !error || !fs::exists(process);
}

// By inode, as the path may be another one there.
bool forget_mapped(const fs::path& process, std::map<file_id, fs::path>& stale) {
  std::ifstream maps(process / "maps");
  if (!maps) return !fs::exists(process);
  for (std::string line; std::getline(maps, line);)
    std::erase_if(stale, [&](const auto& one) {
      return line.find(" " + std::to_string(one.first.second) + " ") != std::string::npos &&
             line.find(prefix) != std::string::npos;
    });
  return true;
}

// In ticks since the machine did; field 22, after the name in parentheses.
std::uint64_t started(const fs::path& process) {
  std::ifstream file(process / "stat");
  std::string text;
  std::getline(file, text);
  std::istringstream rest(text.substr(std::min(text.size(), text.rfind(')') + 1)));
  std::string field;
  for (int i = 3; i < 22; ++i) rest >> field;
  std::uint64_t ticks = 0;
  rest >> ticks;
  return ticks;
}

}  // namespace

int remove_stale_segments(const std::string& folder) {
  auto stale = segments_in(folder);
  if (stale.empty()) return 0;  // as nearly always
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    if (!may_have_it(entry.path())) continue;
    const bool seen = forget_open(entry.path(), stale) && forget_mapped(entry.path(), stale);
    // An old one that hides, as process 1 of a container does, has no part in this run.
    if (!seen && started(entry.path()) >= started("/proc/self")) return 0;
  }
  int removed = 0;
  for (const auto& [id, path] : stale) removed += ::unlink(path.c_str()) == 0 ? 1 : 0;
  return removed;
}

int remove_segments_of(std::span<const pid_t> makers) {
  std::ifstream list("/proc/sysvipc/shm");
  std::string line;
  std::getline(list, line);  // names of the columns
  int removed = 0;
  while (std::getline(list, line)) {
    std::istringstream fields(line);
    std::uint64_t key = 0, size = 0, attached = 0;
    std::string mode;
    int id = -1;
    pid_t maker = -1, last = -1;
    uid_t owner = 0;
    fields >> key >> id >> mode >> size >> maker >> last >> attached >> owner;
    if (!fields || attached != 0 || owner != ::geteuid()) continue;
    if (std::find(makers.begin(), makers.end(), maker) == makers.end()) continue;
    removed += ::shmctl(id, IPC_RMID, nullptr) == 0 ? 1 : 0;
  }
  return removed;
}

}  // namespace tidegate::launch
