#include "launch/processes/find_program.hpp"

#include <filesystem>
#include <sstream>
#include <unistd.h>

namespace tidegate::launch {

namespace {

bool can_run(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

runtime::expected<std::string> find_program(const std::string& name, const std::string& beside,
                                            const std::string& path) {
  if (name.find('/') != std::string::npos) {
    if (can_run(name)) return name;
    return runtime::fail(runtime::errc::not_found,
                         "program '" + name + "' is not there or cannot be executed");
  }
  if (can_run(beside + "/" + name)) return beside + "/" + name;
  std::istringstream folders(path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const auto candidate = (folder.empty() ? "." : folder) + "/" + name;
    if (can_run(candidate)) return candidate;
  }
  return runtime::fail(runtime::errc::not_found, "program '" + name + "' is neither in " +
                                                     beside + " (beside tidegate) nor in PATH");
}

runtime::expected<std::string> own_program() {
  std::error_code error;
  auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) {
    return runtime::fail(runtime::errc::io_error, "/proc/self/exe: " + error.message());
  }
  return path.string();
}

}  // namespace tidegate::launch
