#include "launch/monitor/private_file.hpp"

#include <sys/stat.h>

#include "launch/text/files.hpp"

namespace tidegate::launch {

runtime::expected<std::string> read_private_file(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) == 0 && (found.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return runtime::fail(runtime::errc::refused, path +
                                                     ": others than its owner may read it; "
                                                     "make it yours alone: chmod 600 " +
                                                     path);
  return read_file(path);
}

}  // namespace tidegate::launch
