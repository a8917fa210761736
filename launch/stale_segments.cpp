#include "launch/stale_segments.hpp"

#include <filesystem>
#include <fstream>
#include <map>
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

bool is_process(const fs::path& path) {
  return path.filename().string().find_first_not_of("0123456789") == std::string::npos;
}

void forget_open(const fs::path& process, std::map<file_id, fs::path>& stale) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(process / "fd", error)) {
    struct stat info = {};
    if (::stat(entry.path().c_str(), &info) == 0) stale.erase({info.st_dev, info.st_ino});
  }
}

void forget_mapped(const fs::path& process, std::map<file_id, fs::path>& stale) {
  std::ifstream maps(process / "maps");
  for (std::string line; std::getline(maps, line);)
    std::erase_if(stale, [&](const auto& one) {
      return line.find(one.second.string()) != std::string::npos;
    });
}

}  // namespace

int remove_stale_segments(const std::string& folder) {
  auto stale = segments_in(folder);
  if (stale.empty()) return 0;  // as nearly always
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    if (!is_process(entry.path())) continue;
    forget_open(entry.path(), stale);
    forget_mapped(entry.path(), stale);
  }
  int removed = 0;
  for (const auto& [id, path] : stale) removed += ::unlink(path.c_str()) == 0 ? 1 : 0;
  return removed;
}

}  // namespace tidegate::launch
